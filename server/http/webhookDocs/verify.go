package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

var signature = regexp.MustCompile(`^t=([0-9]+),v1=([0-9a-f]{64})$`)

// Verify checks a raw body. It returns an error if the event is not from Rebid, or too old.
func Verify(body []byte, header, signingSecret string) error {
	parts := signature.FindStringSubmatch(header)
	if parts == nil {
		return errors.New("not a signature")
	}
	t, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return err
	}
	if age := time.Since(time.Unix(t, 0)); age > 5*time.Minute || age < -5*time.Minute {
		return errors.New("too old")
	}

	mac := hmac.New(sha256.New, []byte(signingSecret))
	fmt.Fprintf(mac, "%s.", parts[1])
	mac.Write(body)
	sent, err := hex.DecodeString(parts[2])
	if err != nil || !hmac.Equal(mac.Sum(nil), sent) {
		return errors.New("wrong signature")
	}
	return nil
}
