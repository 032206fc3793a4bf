# To look at one delivery by hand. HEADER: the value of X-Service-Signature. SECRET: whsec_…
# body.json: the bytes as they came, without a newline added.
t=$(echo "$HEADER" | sed 's/^t=\([0-9]*\),v1=.*$/\1/')
v1=${HEADER##*v1=}

expected=$({ printf '%s.' "$t"; cat body.json; } | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)

age=$(($(date +%s) - t))
[ "$expected" = "$v1" ] && [ "${age#-}" -le 300 ] && echo valid || { echo invalid; exit 1; }
