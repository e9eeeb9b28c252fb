// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Program is one run of the command idbuilder.
type Program struct {
	*shell.Console
	raw   shell.Streams // that do not escape
	flags flags
}

// New returns a run with arguments. Its output is escaped.
func New(args []string, streams shell.Streams) *Program {
	return &Program{Console: shell.NewConsole("idbuilder", args, streams), raw: streams}
}

// AddFlags adds the flags of the settings to the root of the commands.
func (p *Program) AddFlags(root *cobra.Command) {
	p.flags.addTo(root)
	root.SetFlagErrorFunc(explainFlag)
}

// Settings returns the settings of file, environment and flags.
func (p *Program) Settings(cmd *cobra.Command) (*settings.Settings, error) { return p.flags.load(cmd) }

// WithHome opens and initialises the store, calls do, and closes it.
func (p *Program) WithHome(ctx context.Context, cmd *cobra.Command, do func(*settings.Settings, Home) error) error {
	s, err := p.flags.load(cmd)
	if err != nil {
		return err
	}
	h, err := Open(ctx, s.Storage, p.Logger())
	if err != nil {
		return err
	}
	err = h.Initialise(ctx, s.Storage)
	if err == nil {
		err = do(s, h)
	}
	return errors.Join(err, h.Close())
}

// ServerLogger returns the logger that the settings describe, on the error output.
func (p *Program) ServerLogger(o settings.Observability) *slog.Logger {
	asJSON := o.LogFormat == "json"
	options := &slog.HandlerOptions{Level: levels[o.LogLevel], ReplaceAttr: nameTrace}
	out := shell.Escaping(p.raw.Err, &asJSON)
	if asJSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
