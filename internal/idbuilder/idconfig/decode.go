// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

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
		r.addFault("body", "there is more behind the JSON object, which ends with byte %d", end)
	}
	if len(r.faults) > len(r.types) {
		return r, nil
	}
	if err := json.Unmarshal(body, target); err != nil && len(r.types) == 0 { // it skips members of a wrong type
		return r, fault("body", "it cannot be read: %v", err)
	}
	return r, nil
}

// syntaxError is the fault of a body that is not JSON.
func syntaxError(err error, offset int64) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fault("body", "it is not JSON: %v, near byte %d", syntax, syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
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
