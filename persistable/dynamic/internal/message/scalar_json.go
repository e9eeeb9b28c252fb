// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// appendJSON appends a single value.
func (s *scalar) appendJSON(b []byte, v any) []byte {
	text := s.text(v)
	switch {
	case s.json == jsonText, s.json == jsonFloat && !isFinite(text):
		return appendText(b, text)
	}
	return append(b, text...)
}

// isFinite reports whether the text of a float is a number of JSON.
func isFinite(text string) bool { return text != "NaN" && text[len(text)-1] != 'y' }

// appendText appends a string of JSON.
func appendText(b []byte, text string) []byte {
	if isPlain(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil { // it encodes every string
		return strconv.AppendQuote(b, text)
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// isPlain reports whether a text needs no escape in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// textOf returns the text to parse of a token, if the scalar may be such a token.
func (s *scalar) textOf(token json.Token) (text string, ok bool) {
	switch v := token.(type) {
	case bool:
		return strconv.FormatBool(v), s.json == jsonBool
	case json.Number:
		return v.String(), s.json == jsonInteger || s.json == jsonFloat || s == idScalar
	case string:
		return v, s.json != jsonBool
	}
	return "", false
}
