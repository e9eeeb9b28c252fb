// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

// decodeStrictly reads one JSON value of a configuration. The error for an unknown key names
// the nearest known one.
func decodeStrictly(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return errors.New("there is more after its JSON value")
		}
		return nil
	}
	quoted, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !unknown {
		return fmt.Errorf("it is not the expected JSON: %w", err)
	}
	keys := keysOf(reflect.TypeOf(v))
	meant, _ := nearest.Word(strings.Trim(quoted, `"`), keys)
	return fmt.Errorf("there is no key %s: did you mean %q? There is %s", quoted, meant, strings.Join(keys, ", "))
}

// keysOf returns the keys of JSON objects of a type, or of its elements.
func keysOf(t reflect.Type) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = strings.ToLower(field.Name[:1]) + field.Name[1:]
		}
		keys = append(keys, name)
	}
	return keys
}
