// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
)

// parseField reads the value of a field.
func (p *parser) parseField(f *Field, depth int) (any, error) {
	switch {
	case f.IsList():
		return p.parseList(f, depth)
	case f.IsMap():
		return p.parseMap(f, depth)
	}
	v, err := p.parseValue(f, depth)
	if err == nil && v == nil && !f.IsNullable() {
		err = p.fault("it is null, and the field cannot be null; leave the member out, or write %s", f.wanted())
	}
	return v, err
}

// parseValue reads one value; nil for null.
func (p *parser) parseValue(f *Field, depth int) (any, error) {
	if f.Inner != nil {
		open, err := p.open('{', "an object")
		if err != nil || !open {
			return nil, err
		}
		return p.parseMembers(f.Inner, depth-1)
	}
	token, err := p.next()
	if err != nil || token == nil {
		return nil, err
	}
	text, ok := f.scalar.textOf(token)
	if !ok {
		return nil, p.fault("it is %s; wanted is %s", describe(token), f.scalar.wanted)
	}
	v, err := f.scalar.parse(text)
	if err != nil {
		return nil, p.fault("it is %s; wanted is %s", describe(token), f.scalar.wanted)
	}
	return v, nil
}

// parseList reads a list; null is an empty one.
func (p *parser) parseList(f *Field, depth int) (any, error) {
	var list []any
	open, err := p.open('[', "a list")
	if err != nil || !open {
		return list, err
	}
	for p.dec.More() {
		v, err := p.parseValue(f, depth)
		if err == nil && v == nil {
			err = p.fault("it is null; wanted is %s", f.wanted())
		}
		if err != nil {
			return nil, within(fmt.Sprintf("[%d]", len(list)), err)
		}
		list = append(list, v)
	}
	_, err = p.next()
	return list, err
}

// parseMap reads an object as a map; null is an empty one.
func (p *parser) parseMap(f *Field, depth int) (any, error) {
	var entries []Entry
	open, err := p.open('{', "an object")
	if err != nil || !open {
		return entries, err
	}
	for p.dec.More() {
		token, err := p.next()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		e, err := p.parseEntry(f, name, depth)
		if err != nil {
			return nil, within("["+name+"]", err)
		}
		entries = append(entries, e)
	}
	if _, err := p.next(); err != nil {
		return nil, err
	}
	return p.sortEntries(f, entries)
}

// parseEntry reads the value of an entry whose key has been read.
func (p *parser) parseEntry(f *Field, name string, depth int) (e Entry, err error) {
	if e.Key, err = f.key.parse(name); err != nil {
		return e, p.fault("the key is %q; wanted is %s", name, f.key.wanted)
	}
	if e.Value, err = p.parseValue(f, depth); err == nil && e.Value == nil {
		err = p.fault("it is null; wanted is %s", f.wanted())
	}
	return e, err
}

// sortEntries puts entries into the order of their keys, of which each is there once.
func (p *parser) sortEntries(f *Field, entries []Entry) (any, error) {
	slices.SortFunc(entries, func(a, b Entry) int { return compareKeys(a.Key, b.Key) })
	for i := 1; i < len(entries); i++ {
		if compareKeys(entries[i-1].Key, entries[i].Key) == 0 {
			return nil, p.fault("the key %s is there twice", f.key.text(entries[i].Key))
		}
	}
	return entries, nil
}

// hasLoneSurrogate reports whether a string of JSON has an escape of half a character,
// which the decoder would replace.
func hasLoneSurrogate(quoted []byte) bool {
	for {
		at := bytes.IndexByte(quoted, '\\')
		if at < 0 || at+1 == len(quoted) {
			return false
		}
		first, second := escapedRune(quoted[at:]), rune(-1)
		quoted = quoted[at+2:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		if quoted = quoted[4:]; bytes.HasPrefix(quoted, []byte(`\u`)) {
			second = escapedRune(quoted)
			quoted = quoted[min(6, len(quoted)):]
		}
		if utf16.DecodeRune(first, second) == '\uFFFD' {
			return true
		}
	}
}

// escapedRune returns the number of an escape \uXXXX at the beginning of a text, 0 if
// there is another escape.
func escapedRune(text []byte) rune {
	if len(text) < 6 || text[1] != 'u' {
		return 0
	}
	n, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n)
}
