// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/move"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func moveDatabaseCommand(c *shell.Console) *cobra.Command {
	var back, abandon bool
	var priority *kv.Priority
	cmd := &cobra.Command{
		Use: "move", Short: "Move a database from a folder to a FoundationDB cluster, or back", Args: shell.Arguments(cobra.NoArgs),
		Long: `Move the database in the folder of --db to the cluster of --cluster-file, or with --back that of the cluster
to the folder. The target must be empty: a cluster without keys, a folder that does not exist or is empty.

Stop all programs that use the source first. The command keeps others out: no program can open the
folder until the command has ended; a cluster is locked, as fdbcli lock does. A target is a database that programs can
use once it is complete: a cluster is locked until then, and the name of a folder ends with .moving.

The command copies all keys in batches, reads both databases again, and compares counts and checksums of
each directory; with --json it prints them. It brings the commit versions of the target above those of the source, as fdbcli
advanceversion does: later changes of records with versions, and of feeds, come after the earlier ones.
In the target no lease of IDs is granted until those of the source have ended (kazahana lease
quarantine --end ends that at once), and clusters of actors have no members.

If the command is interrupted, repeat it: it goes on where it was. Or give the move up, with --abandon: that
unlocks the cluster, and removes what was copied. The source stays as it is. Keep it as a backup, and let no
program write there: from now on there are two databases. A cluster that was the source stays locked.`,
		Example: "  kazahana move --db data --cluster-file fdb.cluster\n  kazahana move --back --cluster-file fdb.cluster --db data-again",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return database.WithBoth(cmd, func(ctx context.Context, folder, clusterFile string) error {
				v := mover{c, cmd, absolute(folder), clusterFile, *priority}
				switch {
				case abandon && back:
					return v.abandonFolder(ctx)
				case abandon:
					return v.withCluster(ctx, func(cluster move.End) error { return v.abandon(ctx, move.End{Name: v.folder}, cluster, nil) })
				case back:
					return v.moveToFolder(ctx)
				}
				return v.moveToCluster(ctx)
			})
		},
	}
	cmd.Flags().BoolVar(&back, "back", false, "move from the cluster to the folder")
	cmd.Flags().BoolVar(&abandon, "abandon", false, "give up an unfinished move between the two")
	priority = database.AddPriority(cmd)
	shell.AddYes(cmd)
	return cmd
}

// mover is the command with its two databases.
type mover struct {
	console     *shell.Console
	cmd         *cobra.Command
	folder      string // with its whole path
	clusterFile string
	priority    kv.Priority
}

// moveToCluster opens the folder before the cluster: its faults are found first.
func (v *mover) moveToCluster(ctx context.Context) (err error) {
	folder, err := database.OpenFolder(v.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	return v.withCluster(ctx, func(cluster move.End) error {
		from := move.End{DB: folder, Name: v.folder}
		if err := v.confirm(from.Name, cluster.Name, "Move it? The cluster is locked until it is complete."); err != nil {
			return err
		}
		result, err := v.run(ctx, from, cluster)
		if err != nil {
			return err
		}
		return v.console.Write(databaseMoveResult{from.Name, cluster.Name, "fdb:" + v.clusterFile, result})
	})
}

// movingSuffix ends the name of a folder that is not complete.
const movingSuffix = ".moving"

func (v *mover) moveToFolder(ctx context.Context) error {
	if err := checkEmpty(v.folder); err != nil {
		return err
	}
	return v.withCluster(ctx, func(cluster move.End) error {
		if err := v.confirm(cluster.Name, v.folder, "Move it? The cluster is locked from now on."); err != nil {
			return err
		}
		partial := v.folder + movingSuffix
		folder, err := embedded.Open(partial)
		if err != nil {
			return err
		}
		result, err := v.run(ctx, cluster, move.End{DB: folder, Name: partial})
		if errors.Is(err, move.ErrNotEmpty) {
			err = fmt.Errorf("%w. If an earlier move into it has ended, rename %s to %s; otherwise remove it", err, shell.Word(partial), shell.Word(v.folder))
		}
		if err = errors.Join(err, folder.Close()); err != nil {
			return err
		}
		if err := v.finishFolder(partial); err != nil {
			return err
		}
		return v.console.Write(databaseMoveResult{cluster.Name, v.folder, "embedded:" + v.folder, result})
	})
}

// abandonFolder gives up a move into the folder. What was copied is removed after the cluster is unlocked.
func (v *mover) abandonFolder(ctx context.Context) error {
	partial := v.folder + movingSuffix
	if database.IsForeign(partial) {
		return shell.Invalid(fmt.Errorf("%w: the folder %s has no database", move.ErrNone, shell.Word(partial)))
	}
	return v.withCluster(ctx, func(cluster move.End) error {
		folder, err := embedded.Open(partial)
		if err != nil {
			return err
		}
		remove := func() error { return errors.Join(folder.Close(), os.RemoveAll(partial)) }
		return errors.Join(v.abandon(ctx, cluster, move.End{DB: folder, Name: partial}, remove), folder.Close())
	})
}

// abandon gives up a move, and calls then.
func (v *mover) abandon(ctx context.Context, from, to move.End, then func() error) error {
	err := v.confirm(from.Name, to.Name, "Give that move up, and remove what it has copied?")
	if err == nil {
		err = explainMove(move.Abandon(ctx, from, to))
	}
	if err == nil && then != nil {
		err = then()
	}
	if err != nil {
		return err
	}
	return v.console.Write(abandonment{from.Name, to.Name})
}

// abandonment is a move that was given up.
type abandonment struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Lines implements [shell.Result].
func (a abandonment) Lines() []string {
	return []string{fmt.Sprintf("gave up the move from %s to %s: nothing is locked by it", shell.Word(a.From), shell.Word(a.To))}
}

// finishFolder gives the folder its name.
func (v *mover) finishFolder(partial string) error {
	if err := os.Remove(v.folder); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(partial, v.folder); err != nil {
		return err
	}
	return shell.SyncFolder(filepath.Dir(v.folder))
}

// withCluster calls do with the cluster, locked or not.
func (v *mover) withCluster(ctx context.Context, do func(move.End) error) error {
	engine, _, err := database.OpenCluster(ctx, v.clusterFile)
	if err != nil {
		return err
	}
	return errors.Join(do(move.End{DB: engine, Name: clusterName(v.clusterFile), Shared: true}), engine.Close())
}

func (v *mover) confirm(from, to, question string) error {
	return v.console.Confirm(v.cmd, []string{fmt.Sprintf("from %s to %s", shell.Word(from), shell.Word(to))}, question)
}

// run moves a database, with a bar for each phase.
func (v *mover) run(ctx context.Context, from, to move.End) (*move.Result, error) {
	show := moveProgress{console: v.console}
	result, err := move.Run(ctx, from, to, move.Options{Progress: show.set, Priority: v.priority})
	show.bar.Finish()
	return result, explainMove(err)
}

// explainMove adds what to do to the error of a move.
func explainMove(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, move.ErrNotEmpty), errors.Is(err, move.ErrOther), errors.Is(err, move.ErrNone):
		return shell.Invalid(err)
	}
	return fmt.Errorf("%w\nthe cluster may be locked: repeat the command, which goes on where it was, or unlock it again with --abandon, which gives the move up", err)
}

// clusterName returns the description and the id of a cluster, which stay when its coordinators
// move; the name of the file if it has none.
func clusterName(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return file
	}
	for line := range strings.Lines(string(text)) {
		if name, _, found := strings.Cut(strings.TrimSpace(line), "@"); found && !strings.HasPrefix(name, "#") {
			return "the cluster " + name
		}
	}
	return file
}

// moveProgress shows a bar for each phase of a move.
type moveProgress struct {
	console *shell.Console
	phase   move.Phase
	bar     *shell.Progress
}

func (p *moveProgress) set(phase move.Phase, done, total int64) {
	if phase != p.phase {
		p.bar.Finish()
		p.phase, p.bar = phase, p.console.StartProgress(string(phase), total, shell.Bytes)
	}
	p.bar.Set(done)
}

// databaseMoveResult is a move that has ended.
type databaseMoveResult struct {
	From   string `json:"from"`
	To     string `json:"to"`
	leases string // of the target, as --leases names them
	*move.Result
}

// Lines implements [shell.Result].
func (r databaseMoveResult) Lines() []string {
	pairs := []any{"moved", fmt.Sprintf("%s to %s", shell.Word(r.From), shell.Word(r.To))}
	if r.Directories != nil {
		var n, bytes int64
		for _, d := range r.Directories {
			n, bytes = n+d.Pairs, bytes+d.Bytes
		}
		pairs = append(pairs, "compared", fmt.Sprintf("%d directories, %d pairs, %s: the same", len(r.Directories), n, shell.Size(bytes)))
	}
	how := "as they were already"
	if r.Advanced {
		how = "to which they were advanced"
	}
	pairs = append(pairs, "versions", fmt.Sprintf("above %d, %s", r.Version, how))
	for _, s := range r.Services {
		pairs = append(pairs, "leases", fmt.Sprintf("of the service %s: none is granted until %s; if no program uses the source any more: kazahana lease quarantine --end --leases %s --service %s",
			shell.Word(s.Name), shell.Stamp(s.Until), shell.Word(r.leases), shell.Word(s.Name)))
	}
	if r.Members > 0 {
		pairs = append(pairs, "removed", fmt.Sprintf("%d members of the cluster of actors, which has a new id", r.Members))
	}
	if r.Lock != "" {
		pairs = append(pairs, "locked", fmt.Sprintf("the source; to write there all the same: fdbcli --exec 'unlock %s'", r.Lock))
	}
	return shell.Fields(pairs...)
}
