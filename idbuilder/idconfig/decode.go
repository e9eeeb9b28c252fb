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

// decode reads one JSON object into target, a pointer to a struct. Each member must be known, by
// its exact name, and come once; a null counts as a missing member. The error joins a
// [*ParamError] for each fault, up to [maxFaults], with the path of the member:
// parts[1].length.
func decode(body []byte, target any) error {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return fault("body", "it is empty; wanted is a JSON object")
	case !utf8.Valid(body):
		return fault("body", "it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	r := &reader{decoder: d}
	if err := r.readObject(target); err != nil {
		return syntaxError(err, d.InputOffset())
	}
	end := d.InputOffset()
	if _, err := d.Token(); err != io.EOF {
		r.addFault("body", "there is more behind the JSON object, which ends with byte %d", end)
	}
	if len(r.faults) > 0 {
		return errors.Join(r.faults...)
	}
	if err := json.Unmarshal(body, target); err != nil {
		return fault("body", "it cannot be read: %v", err)
	}
	return nil
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
