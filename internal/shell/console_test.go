// SPDX-License-Identifier: Apache-2.0

package shell_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// row is a result.
type row struct {
	Name string `json:"name"`
}

func (r row) Lines() []string { return []string{"name " + r.Name} }

// TestConsole writes results and errors as lines and as JSON.
func TestConsole(t *testing.T) {
	for _, test := range []struct{ args, out, err string }{
		{"", "name a\\nb\n", "x: one\n  two\n"},
		{"--json", "{\"name\":\"a\\nb\"}\n", "{\"error\":\"one\\ntwo\",\"exit\":3}\n"},
		{"-- --json", "name a\\nb\n", "x: one\n  two\n"},
	} {
		var out, err strings.Builder
		c := shell.NewConsole("x", strings.Fields(test.args), shell.Streams{Out: &out, Err: &err})
		if failed := c.Write(row{"a\nb"}); failed != nil {
			t.Fatal(failed)
		}
		if code := c.Fail(errors.New("one\ntwo"), 3); code != 3 {
			t.Errorf("code %d", code)
		}
		if out.String() != test.out || err.String() != test.err {
			t.Errorf("%q: %q and %q, want %q and %q", test.args, &out, &err, test.out, test.err)
		}
	}
}

// TestRoot runs commands that are used wrongly.
func TestRoot(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		err  string
	}{
		{"", 0, ""},
		{"sub", 0, ""},
		{"help sub", 0, ""},
		{"help sup", 2, `no help about "sup"`},
		{"sup", 2, `unknown command "sup": did you mean "sub"?`},
		{"bus", 2, "unknown command \"bus\"\nsee x --help"}, // two edits away
		{"bsu", 2, "unknown command \"bsu\"\nsee x --help"},
		{"suv", 2, `did you mean "sub"?`},
		{"get", 2, "ID... is missing: x get ID... [FILE], for example: x get 1\nsee x get --help"},
		{"get 1 a b", 2, `"b" is too much: x get ID... [FILE], for example: x get 1`},
		{"get 1 a", 0, ""},
		{"sub --nix", 2, "unknown flag: --nix"},
		{"sub more", 2, `"more" is too much: x sub takes flags only, for example: x sub --json`},
		{"completion fish", 0, ""},
	} {
		var out, err strings.Builder
		c := shell.NewConsole("x", strings.Fields(test.args), shell.Streams{Out: &out, Err: &err})
		run := func(*cobra.Command, []string) {}
		root := shell.Group("x", "About x", &cobra.Command{Use: "sub", Example: "  x sub --json", Args: shell.Arguments(cobra.NoArgs), Run: run},
			&cobra.Command{Use: "get ID... [FILE]", Example: "  x get 1\n  x get 2", Args: shell.Arguments(cobra.RangeArgs(1, 2)), Run: run})
		c.Prepare(root)
		root.SetArgs(strings.Fields(test.args))
		failed := root.Execute()
		if code := shell.Code(failed); code != test.code || !strings.Contains(fmt.Sprint(failed), test.err) {
			t.Errorf("%q: code %d, %v; want %d, %s", test.args, code, failed, test.code, test.err)
		}
	}
}

func TestEach(t *testing.T) {
	c := shell.NewConsole("x", nil, shell.Streams{In: strings.NewReader("a\n\n b \n")})
	for _, test := range []struct {
		args []string
		want string
	}{{[]string{"-"}, "a,b,"}, {[]string{"x", "-"}, "x,-,"}} {
		var got strings.Builder
		if err := c.Each(test.args, func(word string) error { got.WriteString(word + ","); return nil }); err != nil || got.String() != test.want {
			t.Errorf("%q: %q, %v", test.args, &got, err)
		}
	}
}
