# For checking one delivery by hand. HEADER: the value of X-Service-Signature. SECRET: whsec_…
# body.json: the raw body, without a newline added.
# Digits or nothing, because bash runs commands that are hidden in a name inside $(( )).
t=$(printf '%s' "$HEADER" | sed -n 's/^t=\([0-9]*\),v1=[0-9a-f]*$/\1/p')
v1=${HEADER##*v1=}

expected=$({ printf '%s.' "$t"; cat body.json; } | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)

age=$(($(date +%s) - t))
[ "$expected" = "$v1" ] && [ "${age#-}" -le 300 ] && echo valid || { echo invalid; exit 1; }
