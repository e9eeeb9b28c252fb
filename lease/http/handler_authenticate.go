// SPDX-License-Identifier: Apache-2.0

package http

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/kazahana-db/kazahana/internal/access"
)

// authenticate returns whose token the request bears. It compares with all of
// them, whichever it is.
func (h *Handler) authenticate(r *http.Request) (*account, error) {
	header := r.Header.Get("Authorization")
	if header == "" && h.options.Anonymous {
		if err := access.CheckOpen(r, h.options.Hosts); err != nil {
			return nil, newStatusError(http.StatusForbidden, codeForbidden, "%v", err)
		}
		return nil, nil
	}
	scheme, secret, _ := strings.Cut(header, " ")
	hash := sha256.Sum256([]byte(secret))
	var found *account
	for _, a := range h.accounts {
		if subtle.ConstantTimeCompare(hash[:], a.hash[:]) == 1 {
			found = a
		}
	}
	if found == nil || !strings.EqualFold(scheme, "Bearer") {
		return nil, newStatusError(http.StatusUnauthorized, codeUnauthorized, "the request bears no valid token")
	}
	return found, nil
}
