// SPDX-License-Identifier: Apache-2.0

package shell_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestConfirmWithoutTerminal: without --yes a verb is refused, with it the verb goes on, and
// either way what it would do is shown. The answers on a terminal are in the scripts of
// cmd/kazahana.
func TestConfirmWithoutTerminal(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		errs string
	}{
		{"", 2, "would remove a\\nb\n"},
		{"--yes", 0, "would remove a\\nb\n"},
		{"--json", 2, ""},
		{"--json -y", 0, ""},
	} {
		var out, errs strings.Builder
		c := shell.NewConsole("x", strings.Fields(test.args), shell.Streams{In: strings.NewReader("yes\n"), Out: &out, Err: &errs})
		verb := &cobra.Command{Use: "x", RunE: func(cmd *cobra.Command, _ []string) error {
			return c.Confirm(cmd, []string{"would remove a\nb"}, "Remove it?")
		}}
		shell.AddYes(verb)
		root := shell.Group("root", "About", verb)
		c.Prepare(root)
		root.SetArgs(append([]string{"x"}, strings.Fields(test.args)...))
		err := root.Execute()
		if code := shell.Code(err); code != test.code || errs.String() != test.errs || code != 0 && !strings.Contains(err.Error(), "--yes") {
			t.Errorf("%q: exit code %d, %v, %q; want %d, %q", test.args, code, err, &errs, test.code, test.errs)
		}
	}
}
