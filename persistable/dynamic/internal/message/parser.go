// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
