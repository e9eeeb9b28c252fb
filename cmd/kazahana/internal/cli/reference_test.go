// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/shell"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

// aboveCommands stands above the reference.
const aboveCommands = `# Commands

What ` + "`kazahana`" + ` can do, from its own help. ` + "`kazahana COMMAND --help`" + ` says more of each, and ` + "`kazahana --help`" + ` lists the exit codes.
[Operations](operations.md) says when to use which. The other commands: [persistgen](persistgen.md), [persistvet](persistvet.md), [idbuilder](idbuilder.md).

`

// TestReference compares docs/commands.md with the commands.
func TestReference(t *testing.T) {
	const page = "../../../../docs/commands.md"
	want := aboveCommands + shell.Reference(newRoot(shell.NewConsole("kazahana", nil, Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/commands.md does not agree with the commands: run go test ./cmd/kazahana/internal/cli -run TestReference -args -update")
	}
}
