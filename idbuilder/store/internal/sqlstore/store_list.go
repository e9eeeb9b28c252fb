// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// List implements [store.Store].
func (s *Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	if err := kind.Validate(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(o.After) || strings.Contains(o.After, "\x00") {
		return nil, fmt.Errorf("store: a list after the key %q, which is not UTF-8 or has a control character", o.After)
	}
	first, last, possible := bounds(o.Prefix)
	return do(ctx, s, "list", func(ctx context.Context) ([]store.Document, error) {
		if !possible {
			return nil, ctx.Err()
		}
		found, err := query(ctx, s.server, from(kind)+" AND d.doc_key >= ? AND d.doc_key <= ? AND d.doc_key > ? AND "+Guard+" ORDER BY d.doc_key LIMIT ?",
			string(kind), first, last, o.After, s.newest(), int64(o.Most()))
		if err == nil && len(found) == 0 {
			err = s.explainNone(ctx, s.server, nil)
		}
		return found, err
	})
}

// beyond makes, after a prefix, a text that is greater than each key with that prefix:
// keys have at most 255 bytes.
var beyond = strings.Repeat(string(utf8.MaxRune), 64)

// bounds returns texts between which all keys with a prefix lie, and no others.
// The prefix may end in the middle of a character. Servers take only whole
// characters.
func bounds(prefix string) (first, last string, possible bool) {
	whole, part := split(prefix)
	if strings.Contains(prefix, "\x00") || len(prefix) > 255 {
		return "", "", false
	}
	if part == "" {
		return whole, whole + beyond, true
	}
	low := rune(sort.Search(utf8.MaxRune+1, func(r int) bool { return encode(rune(r)) >= part }))
	high := rune(sort.Search(utf8.MaxRune+1, func(r int) bool {
		text := encode(rune(r))
		return text > part && !strings.HasPrefix(text, part)
	})) - 1
	if low > high {
		return "", "", false
	}
	return whole + encode(low), whole + encode(high) + beyond, true
}

// split returns the valid characters at the front of a text, and the rest.
func split(text string) (whole, part string) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return text[:i], text[i:]
		}
		i += size
	}
	return text, ""
}

// encode returns the bytes of a character. For halves of UTF-16 pairs it returns those of the
// character before them, so that the order of numbers is that of bytes.
func encode(r rune) string {
	if r >= 0xd800 && r <= 0xdfff {
		r = 0xd7ff
	}
	return string(r)
}
