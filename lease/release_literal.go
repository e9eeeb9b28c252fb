// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// isLiteral reports whether req is the release of the specification's section
// 4.1: an id, a timestamp, and a signature of these two. It does not say which
// lease of the machine it is about, nor the last millisecond that was used.
func isLiteral(req idgen.ReleaseRequest) bool {
	return req.BitSeq == 0 && req.Created == 0 && req.LastTs == 0
}

// verifyLiteral reports, in constant time, whether req carries the
// specification's signature under secret: HMAC-SHA-256 in hexadecimal of
// "<id>:<timestamp>".
func verifyLiteral(req idgen.ReleaseRequest, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d:%d", req.ID, req.Timestamp)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(req.Signature))
}
