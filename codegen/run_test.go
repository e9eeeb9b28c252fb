// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/codegen/internal/source"
)

// Shell runs the command in a folder and an environment of its own. Its runs share
// the packages that they import.
type Shell struct{ dependencies *source.Dependencies }

func NewShell() *Shell { return &Shell{source.NewDependencies()} }

func (s *Shell) Run(ctx context.Context, dir string, env, args []string, stdout, stderr io.Writer) int {
	return runCommand(ctx, args, Options{Dir: dir, Stdout: stdout, Stderr: stderr, env: env, dependencies: s.dependencies})
}

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
