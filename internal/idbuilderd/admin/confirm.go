// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/settings"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilderd/program"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func migrateCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Create or migrate the schema of the store", Args: shell.Arguments(cobra.NoArgs),
		Long: `Create the schema of the store, or migrate an older one. A server does so when it starts; this is for
operators who give servers no right to. Of several that run at once, one migrates and the others wait.`,
		Example: "  idbuilder migrate --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.WithHome(cmd.Context(), cmd, func(s *settings.Settings, h program.Home) error {
				return p.Write(migrationResult{s.Storage.Backend, h.Where})
			})
		},
	}
}

type migrationResult struct {
	Backend string `json:"backend"`
	Store   string `json:"store"`
}

func (m migrationResult) Lines() []string {
	return []string{fmt.Sprintf("the schema of %s, %s, is what this program needs", m.Backend, m.Store)}
}

func storeCommand(p *program.Program) *cobra.Command {
	return shell.Group("store", "Look after the store", confirmCommand(p))
}

func confirmCommand(p *program.Program) *cobra.Command {
	var skip int64
	var stopped bool
	cmd := &cobra.Command{
		Use: "confirm", Short: "Let a store that lost data give numbers again", Args: shell.Arguments(cobra.NoArgs),
		Long: `Let a store give numbers again that has, or may have, lost data: Redis after a restart without its
newest writes, or a failover to a replica that lacks them. Servers refuse such a store with exit code 6.

All sequences move ahead by --skip of their steps, so that numbers which were given and then forgotten
do not come again. Take more than all servers can have reserved since the newest write that the store
still has: sequence.max_batch_size for each server is enough for sequence.target of time. First make sure
that no newer copy of the data is left that could be restored instead.

Leases of snowflake worker ids may have been lost, too. Unless --skip is 0, which says that nothing was
lost, no worker id is leased to a new client for snowflake.hold, a day. --clients-stopped does without that
wait: say so when all programs that make snowflake IDs were stopped. Either way stop the servers first if
there are snowflake keys, and start them afterwards.

Changes of the last moments may be lost as well: look at the configurations, and repeat resets of tokens.`,
		Example: "  idbuilder store confirm --skip 10000000 --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if skip < 0 || !cmd.Flags().Changed("skip") {
				return shell.Misuse(cmd, errors.New("--skip: give a number that is not negative"))
			}
			return confirm(p, cmd, skip, stopped || skip == 0)
		},
	}
	cmd.Flags().Int64Var(&skip, "skip", 0, "`number` of steps that each sequence moves ahead")
	cmd.Flags().BoolVar(&stopped, "clients-stopped", false, "lease worker ids of snowflake keys at once: all of their clients were stopped")
	return cmd
}

func confirm(p *program.Program, cmd *cobra.Command, skip int64, leasesKnown bool) error {
	s, err := p.Settings(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	h, err := program.Open(ctx, s.Storage, p.Logger())
	if err != nil {
		return err
	}
	if err := h.Initialise(ctx, s.Storage); err != nil && !errors.Is(err, store.ErrLost) {
		return errors.Join(err, h.Close())
	}
	confirmer, ok := h.Store.(store.Confirmer)
	if !ok {
		return errors.Join(fmt.Errorf("a store of the kind %s refuses no numbers, so there is nothing to confirm; after a restored backup, or a failover that lost commits, move the sequences ahead as docs/idbuilder.md says under Backups", s.Storage.Backend), h.Close())
	}
	err = confirmer.Confirm(ctx, skip)
	if err == nil && !leasesKnown {
		err = quarantineWorkers(ctx, p, s, h)
	}
	return errors.Join(err, h.Close())
}

// quarantineWorkers stops all servers from leasing worker ids of snowflake keys until the leases
// have ended that the store may have lost.
func quarantineWorkers(ctx context.Context, p *program.Program, s *settings.Settings, h program.Home) error {
	w, err := idbuilder.NewWorker(h, program.WorkerOptions(s, p.Logger()))
	if err != nil {
		return err
	}
	keys, err := w.QuarantineWorkerIDs(ctx)
	if err != nil {
		err = fmt.Errorf("the store gives numbers again, but may lease worker ids that are in use; repeat the command: %w", err)
	}
	if keys > 0 && err == nil {
		p.Logger().Warn("no worker id is leased to new clients until leases that were lost have ended", "keys", keys, "for", s.Snowflake.Hold)
	}
	return errors.Join(err, w.Close(ctx))
}
