// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of a [Key], in bytes. They keep the keys of a database well below
// its limit and messages readable.
const (
	MaxKind = 255
	MaxID   = 1024
)

// Key names a virtual actor: its kind, and its identity among those of the kind.
// It exists whether or not it is active anywhere.
type Key struct {
	Kind string // 1 to MaxKind bytes of UTF-8, without "/" and NUL
	ID   string // 1 to MaxID bytes of UTF-8, without NUL
}

// String returns kind/id, which [ParseKey] reads.
func (k Key) String() string { return k.Kind + "/" + k.ID }

// ParseKey reads what [Key.String] returns. The kind ends at the first "/".
func ParseKey(text string) (Key, error) {
	kind, id, found := strings.Cut(text, "/")
	k := Key{Kind: kind, ID: id}
	if !found {
		return Key{}, &KeyError{Key: Key{Kind: text}, Reason: `there is no "/" between the kind and the id`}
	}
	return k, k.Validate()
}

// Validate returns a *[KeyError] with all faults of the key.
func (k Key) Validate() error {
	if validText(k.Kind, MaxKind) && validText(k.ID, MaxID) && strings.IndexByte(k.Kind, '/') < 0 {
		return nil
	}
	faults := []error{textFault("kind", k.Kind, MaxKind), textFault("id", k.ID, MaxID)}
	if strings.Contains(k.Kind, "/") {
		faults = append(faults, errors.New(`the kind contains "/", which ends it in kind/id`))
	}
	return &KeyError{Key: k, Reason: strings.ReplaceAll(errors.Join(faults...).Error(), "\n", "; ")}
}

func validText(s string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

func textFault(what, s string, most int) error {
	switch {
	case s == "":
		return fmt.Errorf("the %s is empty", what)
	case len(s) > most:
		return fmt.Errorf("the %s has %d bytes; at most %d are possible", what, len(s), most)
	case !utf8.ValidString(s):
		return fmt.Errorf("the %s is not valid UTF-8", what)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("the %s contains a NUL byte", what)
	}
	return nil
}
