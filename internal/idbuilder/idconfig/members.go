// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

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
