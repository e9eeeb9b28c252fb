// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/deployed"
	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func importCommand(p *program.Program) *cobra.Command {
	var (
		o    deployed.Options
		next map[string]string
		dry  bool
	)
	cmd := &cobra.Command{
		Use: "import folder", Short: "Take over the keys of a deployed worker's file store", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Take over the keys of a deployed worker's file store, the folder with sequences and configs, into the
store that the settings name. Stop the old worker first.

Numbers go on behind those of the folder by --margin steps, which is at least the old worker's batch
size, in case the folder is an older copy of it. Keys that the store has already are refused, unless an
earlier run of this command made them. The old worker keeps tokens in memory: there are none to take over.

A sequence that is missing or torn is refused: look up the newest ID that was given, and say with --next which
number comes next; or leave the key out with --skip.`,
		Example: "  idbuilder import ./data --dry-run --config idbuilder.toml\n  idbuilder import ./data --next orders=15300",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Margin < 1 {
				return shell.Misuse(cmd, errors.New("--margin: it must be 1 or more"))
			}
			plan, err := planImport(cmd, args[0], o, next)
			if err != nil {
				return err
			}
			return p.WithHome(cmd.Context(), cmd, func(_ *settings.Settings, h program.Home) error {
				return applyImport(cmd.Context(), p, h, plan, dry)
			})
		},
	}
	cmd.Flags().Int64Var(&o.Margin, "margin", 1000, "`number` of steps to leave out of each sequence")
	cmd.Flags().StringToStringVar(&next, "next", nil, "`key=number` that comes next")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "`key` to leave out")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "check, and show what would be done")
	return cmd
}

func planImport(cmd *cobra.Command, dir string, o deployed.Options, next map[string]string) (*deployed.Plan, error) {
	o.Next = map[string]int64{}
	for key, text := range next {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, shell.Misuse(cmd, fmt.Errorf("--next %s=%s: it must be a whole number", key, text))
		}
		o.Next[key] = n
	}
	folder, err := deployed.Read(dir)
	if err != nil {
		return nil, shell.Invalid(err)
	}
	plan, err := folder.Plan(o)
	if err != nil {
		return nil, shell.Invalid(err)
	}
	return plan, nil
}

// applyImport applies a plan, or only checks it, and shows the result for each key.
func applyImport(ctx context.Context, p *program.Program, h program.Home, plan *deployed.Plan, dry bool) error {
	apply := plan.Apply
	if dry {
		apply = plan.Check
	}
	done, err := apply(ctx, h)
	if err != nil {
		return shell.Invalid(err)
	}
	for _, key := range plan.Keys {
		r := importedKey{Key: key.Config.Key, IDType: string(key.Config.Type), Sequences: map[string]int64{}, There: done[key.Config.Key], DryRun: dry}
		for _, q := range key.Sequences {
			r.Sequences[q.Name] = q.Value
		}
		if err := p.Write(r); err != nil {
			return err
		}
	}
	for _, note := range plan.Notes {
		p.Logger().Warn(note)
	}
	return nil
}

// importedKey is an imported key.
type importedKey struct {
	Key       string           `json:"key"`
	IDType    string           `json:"id_type"`
	Sequences map[string]int64 `json:"sequences,omitempty"` // the numbers behind which they go on
	There     bool             `json:"there,omitempty"`     // before
	DryRun    bool             `json:"dry_run,omitempty"`
}

func (i importedKey) Lines() []string {
	state := "imported"
	switch {
	case i.There:
		state = "there already"
	case i.DryRun:
		state = "would be imported"
	}
	line := fmt.Sprintf("%-9s  %s  %s", i.IDType, i.Key, state)
	if value, ok := i.Sequences[i.Key]; ok {
		line += fmt.Sprintf(", goes on behind %d", value)
	}
	return []string{line}
}
