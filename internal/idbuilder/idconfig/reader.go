// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

// maxFaults bounds the faults that one answer lists.
const maxFaults = 16

// reader compares JSON with a Go type. Its methods return the errors of the
// decoder, which end the reading; faults of members are collected.
type reader struct {
	decoder *json.Decoder
	faults  []error
	types   []string // paths of members of the wrong type
}

func (r *reader) addFault(path, reason string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, fault(path, reason, args...))
	}
}

// readObject reads the outermost value, which must be an object of target's type.
func (r *reader) readObject(target any) error {
	token, err := r.decoder.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		r.addFault("body", "it is %s; wanted is an object", kindOf(token))
		return r.skipValue(token)
	}
	return r.readMembers(reflect.TypeOf(target).Elem(), "")
}

// readMembers reads the members of an object up to its end.
func (r *reader) readMembers(t reflect.Type, path string) error {
	known := membersOf(t)
	seen := map[string]bool{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if err := r.readMember(known, seen, name, path); err != nil {
			return err
		}
	}
	_, err := r.decoder.Token()
	return err
}

// readMember reads the value of a member. Seen has the members before it.
func (r *reader) readMember(known members, seen map[string]bool, name, path string) error {
	t := known.types[name]
	place := strings.TrimPrefix(path+"."+name, ".")
	switch {
	case t == nil:
		place = strings.TrimPrefix(path+"."+strings.Trim(excerpt(name), `"`), ".")
		r.addFault(place, "there is no such parameter; %s", known.suggestMember(name))
		return r.readValue(nil, place)
	case seen[name]:
		r.addFault(place, "it stands twice")
	}
	seen[name] = true
	return r.readValue(t, place)
}

// readValue reads a value that must be of a type; nil: of any.
func (r *reader) readValue(t reflect.Type, path string) error {
	token, err := r.decoder.Token()
	if err != nil || token == nil {
		return err
	}
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
	case token == json.Delim('{') && t.Kind() == reflect.Struct:
		return r.readMembers(t, path)
	case token == json.Delim('[') && t.Kind() == reflect.Slice:
		return r.readElements(t.Elem(), path)
	default:
		r.checkScalar(t, token, path)
	}
	return r.skipValue(token)
}

// readElements reads the elements of an array up to its end.
func (r *reader) readElements(t reflect.Type, path string) error {
	for i := 0; r.decoder.More(); i++ {
		if err := r.readValue(t, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	_, err := r.decoder.Token()
	return err
}

// checkScalar checks a value that is neither an object nor an array of the right kind.
func (r *reader) checkScalar(t reflect.Type, token json.Token, path string) {
	wanted := "a text"
	switch t.Kind() {
	case reflect.String:
		if _, ok := token.(string); ok {
			return
		}
	case reflect.Bool:
		if _, ok := token.(bool); ok {
			return
		}
		wanted = "true or false"
	case reflect.Int, reflect.Int64:
		if n, ok := token.(json.Number); ok && isInt64(n) {
			return
		}
		wanted = fmt.Sprintf("a whole number from %d to %d", int64(math.MinInt64), int64(math.MaxInt64))
	case reflect.Slice:
		wanted = "an array"
	default:
		wanted = "an object"
	}
	r.types = append(r.types, path)
	r.addFault(path, "it is %s; wanted is %s", kindOf(token), wanted)
}

func isInt64(n json.Number) bool {
	_, err := strconv.ParseInt(n.String(), 10, 64)
	return err == nil
}

// skipValue reads on to the end of the value that begins with a token.
func (r *reader) skipValue(token json.Token) error {
	depth := 0
	for {
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		var err error
		if token, err = r.decoder.Token(); err != nil {
			return err
		}
	}
}

// kindOf returns the kind of a value for the client that has sent it.
func kindOf(token json.Token) string {
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return "an array"
		}
		return "an object"
	case string:
		return "the text " + excerpt(v)
	case json.Number:
		return "the number " + strings.Trim(excerpt(v.String()), `"`)
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// hidesDialect reports whether a member is of the wrong type that tells the dialect, without which
// other members mean nothing.
func (r *reader) hidesDialect() bool {
	return slices.Contains(r.types, "key") || slices.Contains(r.types, "name")
}

// withoutTypes returns the faults without those of members of the wrong type, which seem to be
// missing, and of those that contain or are in one.
func (r *reader) withoutTypes(faults []error) (rest []error) {
	for _, err := range faults {
		var p *ParamError
		seems := func(path string) bool { return contains(path, p.Param) || contains(p.Param, path) }
		if !errors.As(err, &p) || !slices.ContainsFunc(r.types, seems) {
			rest = append(rest, err)
		}
	}
	return rest
}

// contains reports whether the member at a path is another one, or has it inside.
func contains(path, inner string) bool {
	rest, ok := strings.CutPrefix(inner, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// members are the members that an object may have.
type members struct {
	names []string
	types map[string]reflect.Type
}

// membersOf returns the JSON members of a struct, those of embedded ones included.
func membersOf(t reflect.Type) members {
	m := members{types: map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		m.names = append(m.names, name)
		m.types[name] = f.Type
	}
	return m
}

// suggestMember suggests a known member for an unknown one: the nearest, or, if none is near,
// all.
func (m members) suggestMember(name string) string {
	if len(name) <= 64 {
		if word, distance := nearest.Word(name, m.names); distance <= max(2, len(word)/3) {
			return fmt.Sprintf("did you mean %s?", word)
		}
	}
	return "allowed are " + strings.Join(m.names, ", ")
}

// read reads one JSON object into target, a pointer to a struct. Each member must be known, by
// its exact name, and come once; a null counts as a missing member. The reader has a
// [*ParamError] for each fault of a member, up to [maxFaults], with its path:
// parts[1].length. If all that is wrong are the types of members, read sets the others. The
// error is the fault of the whole.
func read(body []byte, target any) (*reader, error) {
	r := &reader{}
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return r, fault("body", "it is empty; wanted is a JSON object")
	case !utf8.Valid(body):
		return r, fault("body", "it is not UTF-8")
	}
	r.decoder = json.NewDecoder(bytes.NewReader(body))
	r.decoder.UseNumber()
	if err := r.readObject(target); err != nil {
		r.faults = nil
		return r, syntaxError(err, r.decoder.InputOffset())
	}
	end := r.decoder.InputOffset()
	if _, err := r.decoder.Token(); err != io.EOF {
		r.addFault("body", "there is more after the JSON object, which ends with byte %d", end)
	}
	if len(r.faults) > len(r.types) {
		return r, nil
	}
	if err := json.Unmarshal(body, target); err != nil && len(r.types) == 0 { // it skips members of a wrong type
		return r, fault("body", "it cannot be read: %v", err)
	}
	return r, nil
}

// unexpectedEnd is what a decoder of Go 1.27 says of a text that ends in the middle; those before return an EOF.
const unexpectedEnd = "unexpected end of JSON input"

// syntaxError is the fault of a body that is not JSON.
func syntaxError(err error, offset int64) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax) && syntax.Error() != unexpectedEnd:
		return fault("body", "it is not JSON: %v, near byte %d", syntax, syntax.Offset)
	case syntax != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault("body", "it is not JSON: it ends in the middle, after byte %d", offset)
	}
	return fault("body", "it is not JSON: %v", err)
}

// excerpt quotes a text that a client has sent, and cuts a long one.
func excerpt(text string) string {
	const most = 40
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(text[cut]) { // no rune is longer; text that is not UTF-8 is cut as well
		cut--
	}
	return fmt.Sprintf("%q… (%d bytes)", text[:cut], len(text))
}
