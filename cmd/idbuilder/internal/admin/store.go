// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
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
	confirmer, ok := h.Store.(program.Confirmer)
	if !ok {
		return errors.Join(fmt.Errorf("a store of the kind %s refuses no numbers, so there is nothing to confirm; after a restored backup, or a failover that lost commits, move the keys ahead: idbuilder config advance --help", s.Storage.Backend), h.Close())
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
	w, err := worker.New(h, program.WorkerOptions(s, p.Logger()), worker.Hooks{})
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

func configAdvanceCommand(p *program.Program) *cobra.Command {
	var o worker.AdvanceOptions
	var all bool
	cmd := &cobra.Command{
		Use: "advance {key...|--all}", Short: "Move keys ahead after a restored backup",
		Long: `Move keys of all kinds ahead, after a restored backup or a failover that lost commits, so that no ID comes
again that the service gave after the newest write that the store still has. Stop all servers first, and
start them afterwards.

Increment and formatted keys move ahead by --skip of their steps, formatted ones in the present period of
each counter. Take more than all servers can have reserved since that write: the numbers that they gave
since, and sequence.max_batch_size for each server. A counter that has fewer numbers left gives no more in
its period, and the command says so.

Snowflake keys lease no worker id to new clients for snowflake.hold, a day, since the store may have lost
leases. --clients-stopped does without that wait: say so when all programs that make their IDs were stopped.

--all includes deleted keys: a key that is created again continues its sequence. The command works on the
store that the settings name. If it fails for a key it goes on with the others. If it is repeated it moves
the keys again.`,
		Example: "  idbuilder config advance --all --skip 1000000 --config idbuilder.toml\n  idbuilder config advance orders invoices --skip 50000",
		RunE: func(cmd *cobra.Command, keys []string) error {
			switch {
			case all == (len(keys) > 0):
				return shell.Misuse(cmd, errors.New("name the keys, or give --all"))
			case o.Steps < 1:
				return shell.Misuse(cmd, errors.New("--skip: give a number of at least 1"))
			}
			return p.WithHome(cmd.Context(), cmd, func(s *settings.Settings, h program.Home) error {
				return advanceKeys(cmd.Context(), p, s, h, keys, o)
			})
		},
	}
	cmd.Flags().Int64Var(&o.Steps, "skip", 0, "`number` of steps that each sequence moves ahead")
	cmd.Flags().BoolVar(&all, "all", false, "move all keys, deleted ones included")
	cmd.Flags().BoolVar(&o.ClientsStopped, "clients-stopped", false, "lease worker ids of snowflake keys at once: all of their clients were stopped")
	return cmd
}

// advanceKeys moves the keys ahead; all if none is named. It shows each key when it is done, and goes on
// after a key that fails.
func advanceKeys(ctx context.Context, p *program.Program, s *settings.Settings, h program.Home, keys []string, o worker.AdvanceOptions) (err error) {
	if len(keys) == 0 {
		if keys, err = storedKeys(ctx, h); err != nil {
			return err
		}
	}
	w, err := worker.New(h, program.WorkerOptions(s, p.Logger()), worker.Hooks{})
	if err != nil {
		return err
	}
	for _, key := range keys {
		done, fault := w.Advance(ctx, key, o)
		if fault == nil {
			a := advancedKey{Key: key, IDType: string(done.Type), Sequences: done.Sequences, Exhausted: done.Exhausted}
			if done.Quarantined {
				a.Hold = s.Snowflake.Hold.String()
			}
			fault = p.Write(a)
		}
		if err = errors.Join(err, fault); ctx.Err() != nil {
			break
		}
	}
	return errors.Join(err, w.Close(ctx))
}

// storedKeys returns all keys, deleted ones included.
func storedKeys(ctx context.Context, h program.Home) (keys []string, err error) {
	for o := (store.ListOptions{Limit: store.MaxDocuments}); ; o.After = keys[len(keys)-1] {
		page, err := h.List(ctx, store.Configs, o)
		if err != nil || len(page) == 0 {
			return keys, err
		}
		for _, d := range page {
			keys = append(keys, d.Key)
		}
	}
}

// advancedKey is a key that was moved ahead.
type advancedKey struct {
	Key       string           `json:"key"`
	IDType    string           `json:"id_type"`
	Sequences map[string]int64 `json:"sequences,omitempty"`         // the last number of each that is not given
	Exhausted []string         `json:"exhausted,omitempty"`         // no number is left
	Hold      string           `json:"no_worker_ids_for,omitempty"` // a duration
}

func (a advancedKey) Lines() []string {
	lines := []string{fmt.Sprintf("%-9s  %s", a.IDType, shell.Word(a.Key))}
	for _, name := range slices.Sorted(maps.Keys(a.Sequences)) {
		lines = append(lines, fmt.Sprintf("    %s continues after %d", shell.Word(name), a.Sequences[name]))
	}
	for _, name := range a.Exhausted {
		lines = append(lines, fmt.Sprintf("    %s has no number left", shell.Word(name)))
	}
	if a.Hold != "" {
		lines = append(lines, "    no worker id for new clients for "+a.Hold)
	}
	return lines
}

func workersCommand(p *program.Program) *cobra.Command {
	var at serviceFlags
	cmd := &cobra.Command{
		Use: "workers", Short: "List the workers that a controller knows", Args: shell.Arguments(cobra.NoArgs),
		Example: "  idbuilder workers --server https://controller.example.com:8090 --token-file admin-token",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !at.namesServer() {
				return shell.Misuse(cmd, errors.New("name a controller, with --server or "+serverVariable))
			}
			return at.withService(p, cmd, func(ctx context.Context, s *service) error {
				var data struct {
					Items []parameters `json:"items"`
				}
				if err := s.call(ctx, http.MethodGet, controller.WorkersPath, nil, nil, &data); err != nil {
					return err
				}
				for _, w := range data.Items {
					if err := p.Write(w); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	at.addTo(cmd)
	return cmd
}
