// SPDX-License-Identifier: Apache-2.0

package file

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// longest bounds the bytes of a file's name without its ending.
const longest = 200

// FileName returns the name, without an ending, of the file for a sequence or
// document. Small letters, digits, "-", "_" and dots but a leading one stand for
// themselves, other bytes as % and two hexadecimal digits: two names never
// share a file, also where the file system does not tell cases apart. A name
// that would be too long is "%%" and its SHA-256.
func FileName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= longest {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return "%%" + hex.EncodeToString(sum[:])
}

// isHashed reports whether a file's name is a hash, which does not show the name behind it.
func isHashed(fileName string) bool { return strings.HasPrefix(fileName, "%%") }

// NameOf is the inverse of [FileName]. It reports false for a name that is not
// one of its results, and for those of long names.
func NameOf(fileName string) (name string, ok bool) {
	if isHashed(fileName) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(fileName); i++ {
		if fileName[i] != '%' {
			b.WriteByte(fileName[i])
			continue
		}
		c, err := hex.DecodeString(fileName[i+1 : min(i+3, len(fileName))])
		if err != nil || len(c) != 1 {
			return "", false
		}
		b.Write(c)
		i += 2
	}
	return b.String(), b.Len() > 0 && FileName(b.String()) == fileName
}
