// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
)

// ParseKey reads a master key as key files hold it, those of the command
// kazahana among them: in hexadecimal, 16 bytes or more, white space around it
// ignored. "openssl rand -hex 32" makes one. The error does not quote the key.
func ParseKey(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	key := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(key, text); err != nil {
		return nil, errors.New("external: the key is not written in pairs of hexadecimal digits; make one with: openssl rand -hex 32")
	}
	if len(key) < minKeyLen {
		return nil, fmt.Errorf("external: the key has %d bytes; it needs %d or more", len(key), minKeyLen)
	}
	return key, nil
}
