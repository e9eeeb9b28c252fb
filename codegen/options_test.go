// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"
	"testing"
)

func TestOptionsValidate(t *testing.T) {
	cases := []struct {
		options Options
		want    []string
	}{
		{Options{}, nil},
		{Options{Check: true, Proto: true}, nil},
		{Options{Check: true, Fix: true}, []string{"-check writes nothing"}},
		{Options{Check: true, Against: "main"}, nil},
		{Options{Against: "main"}, []string{"-against goes with -check"}},
		{Options{Explain: true, Proto: true, Patterns: []string{""}}, []string{"-explain only prints", "pattern is empty"}},
	}
	for _, c := range cases {
		text := fmt.Sprint(c.options.Validate())
		if (c.want == nil) != (text == "<nil>") {
			t.Errorf("Validate of %+v: %s", c.options, text)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("Validate of %+v: %s; want %s", c.options, text, want)
			}
		}
	}
}
