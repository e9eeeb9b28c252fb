// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
)

// parser reads one message from JSON.
type parser struct {
	text []byte
	dec  *json.Decoder
}

// fault returns an error at the token that was read last.
func (p *parser) fault(format string, args ...any) *Error {
	line := 1 + bytes.Count(p.text[:p.dec.InputOffset()], []byte("\n"))
	return &Error{Line: line, Reason: fmt.Sprintf(format, args...)}
}

// next reads a token.
func (p *parser) next() (json.Token, error) {
	before := p.dec.InputOffset()
	token, err := p.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, p.fault("it is not JSON: %v", syntax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.fault("it is not JSON: the text ends within a value")
	case err != nil:
		return nil, p.fault("%v", err)
	}
	if _, isText := token.(string); isText && hasLoneSurrogate(p.text[before:p.dec.InputOffset()]) {
		return nil, p.fault("a text has an escape \\u that is half of a character")
	}
	return token, nil
}

// open reads the delimiter that begins an object or a list. It reports false for null.
func (p *parser) open(delimiter json.Delim, wanted string) (bool, error) {
	token, err := p.next()
	switch {
	case err != nil:
		return false, err
	case token == nil:
		return false, nil
	case token != delimiter:
		return false, p.fault("it is %s; wanted is %s", describe(token), wanted)
	}
	return true, nil
}

// describe tells what a token is, for errors.
func describe(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return fmt.Sprintf("the text %.60q", v)
	case json.Number:
		return "the number " + v.String()
	}
	return fmt.Sprint(token)
}

// parseObject reads an object as a message of the type.
func (p *parser) parseObject(t *Type, depth int) (*Message, error) {
	open, err := p.open('{', "an object")
	if err == nil && !open {
		err = p.fault("it is null; wanted is an object")
	}
	if err != nil {
		return nil, err
	}
	return p.parseMembers(t, depth)
}

// parseMembers reads what follows the beginning of an object.
func (p *parser) parseMembers(t *Type, depth int) (*Message, error) {
	if depth == 0 {
		return nil, p.fault("objects are nested more than %d deep", maxDepth)
	}
	m, seen := t.New(), make([]bool, len(t.Fields))
	for p.dec.More() {
		name, err := p.parseName(t, seen)
		if err != nil {
			return nil, err
		}
		i := t.indexOf(name)
		if m.values[i], err = p.parseField(t.Fields[i], depth); err != nil {
			return nil, within(name, err)
		}
	}
	_, err := p.next()
	return m, err
}

// parseName reads the name of a member that was not seen yet.
func (p *parser) parseName(t *Type, seen []bool) (string, error) {
	token, err := p.next()
	if err != nil {
		return "", err
	}
	name, _ := token.(string) // between members the decoder gives nothing else
	i := t.indexOf(name)
	switch {
	case i < 0:
		return "", within(name, p.fault("there is no such field%s", t.suggestion(name)))
	case seen[i]:
		return "", within(name, p.fault("the member is there twice"))
	}
	seen[i] = true
	return name, nil
}

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

// parseEntry reads the value of an entry after its key.
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
