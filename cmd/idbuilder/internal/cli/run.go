// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/admin"
	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/server"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// The exit codes of the command. They stay as they are: scripts depend on them.
const (
	ExitDone     = shell.ExitDone
	ExitFailed   = shell.ExitFailed
	ExitMisuse   = shell.ExitMisuse
	ExitInvalid  = shell.ExitInvalid
	ExitNotFound = 4 // no such configuration
	ExitRefused  = 5 // no token, or one that does not permit this
	ExitLost     = 6 // the store has, or may have, lost data: see idbuilder store confirm
)

const about = `idbuilder gives IDs to programs in any language, over HTTP: numbers of sequences, texts
such as INV20261122-0001, and worker ids for snowflake IDs. No ID comes twice.

Without arguments it is idbuilder worker: it serves, from the folder ./idbuilder-data.

Settings come from the file --config (or IDBUILDER_CONFIG) in TOML, from variables such as
IDBUILDER__SERVER__PORT, and from flags such as --server.port, each over the one before.
idbuilder settings lists them all.

Results are lines of text, or with --json one JSON object a line. Exit codes:
  0  done
  1  failed: a file, the network, a server or a store
  2  wrong use: an unknown command or flag, a missing argument
  3  invalid input: a configuration, a key, a parameter
  4  there is no such configuration
  5  refused: no token, or one that does not permit this
  6  the store has, or may have, lost data: see idbuilder store confirm --help`

// Run runs the command with the arguments that follow its name, and returns its
// exit code. When ctx ends, a server finishes its running requests.
func Run(ctx context.Context, args []string, streams shell.Streams) int {
	p := program.New(args, streams)
	root := newRoot(p)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		code := exitCode(err)
		if code == ExitLost {
			err = fmt.Errorf("%w\nsee idbuilder store confirm --help", err)
		}
		return p.Fail(err, code)
	}
	return ExitDone
}

func newRoot(p *program.Program) *cobra.Command {
	worker := server.WorkerCommand(p)
	root := &cobra.Command{
		Use: "idbuilder", Short: "Give IDs over HTTP", Long: about,
		Args: shell.OnlyCommands, RunE: worker.RunE,
	}
	root.AddCommand(worker, server.ControllerCommand(p))
	root.AddCommand(admin.Commands(p)...)
	root.AddCommand(p.VersionCommand())
	p.Prepare(root)
	p.AddFlags(root)
	return root
}

// exitCode returns the code of an error.
func exitCode(err error) int {
	var reply *api.Error
	var faults *settings.Error
	switch {
	case errors.Is(err, store.ErrLost):
		return ExitLost
	case errors.As(err, &faults):
		return ExitInvalid
	case errors.As(err, &reply):
		return replyCode(reply)
	}
	return shell.Code(err)
}

func replyCode(e *api.Error) int {
	switch e.Code {
	case api.Invalid, api.InvalidKey, api.SizeLimit, api.DeltaLimit:
		return ExitInvalid
	case api.Authentication, api.Authorization:
		return ExitRefused
	case api.NotFound:
		return ExitNotFound
	}
	return ExitFailed
}
