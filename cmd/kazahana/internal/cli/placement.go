// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// placementCommand returns kazahana placement.
func placementCommand(c *shell.Console) *cobra.Command {
	g := shell.Group("placement", "Show where virtual actors are, and why", showActorCommand(c), listActorsCommand(c), membersCommand(c), forgetCommand(c))
	g.Long = "Show where virtual actors are, and why. Forget the members in a copy of a database.\n" + database.About
	return g
}

func listActorsCommand(c *shell.Console) *cobra.Command {
	var (
		at    hostFlags
		kind  string
		owner string
		free  bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List the virtual actors and who has them", Args: shell.Arguments(cobra.NoArgs),
		Long: `List virtual actors with the members that have them, a line each. After a member has died, the database
names it as the owner of an actor until that actor is called again.
` + database.About,
		Example: "  kazahana placement list --db data --kind account --owner bank-1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.withActors(cmd, func(ctx context.Context, p *actors) error {
				found := false
				err := p.eachRow(ctx, kind, func(r kvstore.Row) error {
					found = true
					if r.Free() && !free || owner != "" && r.Owner.Name != owner {
						return nil
					}
					return c.Write(newRowLine(r))
				})
				if found || err != nil {
					return err
				}
				_, err = p.usedTopology(ctx)
				return err
			})
		},
	}
	at.addTo(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only those of this `kind`")
	cmd.Flags().StringVar(&owner, "owner", "", "only those that the member of this `name` has")
	cmd.Flags().BoolVar(&free, "free", false, "also those that no member has any more")
	return cmd
}

// rowLine is a row in a listing.
type rowLine struct {
	Key      string `json:"key"`
	Owner    string `json:"owner,omitempty"`
	Address  string `json:"address,omitempty"`
	Epoch    int64  `json:"epoch"`
	Topology int64  `json:"topology,omitempty"`
}

func newRowLine(r kvstore.Row) rowLine {
	line := rowLine{Key: r.Key.String(), Epoch: r.Epoch}
	if !r.Free() {
		line.Owner, line.Address, line.Topology = r.Owner.String(), r.Address, r.Topology
	}
	return line
}

func (r rowLine) Lines() []string {
	owner := "no member"
	if r.Owner != "" {
		owner = fmt.Sprintf("%s at %s, since topology %d", shell.Word(r.Owner), shell.Word(r.Address), r.Topology)
	}
	return []string{fmt.Sprintf("%-24s epoch %-6d %s", shell.Word(r.Key), r.Epoch, owner)}
}

// actors are the virtual actors of a database.
type actors struct {
	path    string
	db      kv.Database
	members *membership.Registry
	rows    *kvstore.Store
	unread  error // what cannot be read: the error of the command, at its end
}

// topology reads the topology, without the members that cannot be read.
func (p *actors) topology(ctx context.Context) (placement.Topology, error) {
	t, err := p.members.Topology(ctx, p.db)
	if t.Version > 0 && errors.Is(err, membership.ErrCorrupt) {
		p.unread, err = err, nil
	}
	return t, err
}

// usedTopology is topology, with an error if no member has ever joined.
func (p *actors) usedTopology(ctx context.Context) (placement.Topology, error) {
	t, err := p.topology(ctx)
	if err == nil && t.Version == 0 {
		err = fmt.Errorf("no host has ever joined below the directory %q of this database; --path must be the Options.Path of its hosts", p.path)
	}
	return t, err
}

// isAlive reports whether a row has an owner that is alive, by its lease: its own row may be one that
// cannot be read.
func (p *actors) isAlive(ctx context.Context, row kvstore.Row) (bool, error) {
	if row.Free() {
		return false, nil
	}
	return kv.ReadTransact(ctx, p.db, func(tx kv.ReadTransaction) (bool, error) {
		return p.members.StartAlive(ctx, tx, row.Owner)(ctx)
	})
}

// rowsPerRead is how many rows one transaction reads.
const rowsPerRead = 1000

// eachRow calls do with each row that can be read, or each of a kind.
func (p *actors) eachRow(ctx context.Context, kind string, do func(kvstore.Row) error) error {
	for after := (placement.Key{Kind: kind}); ; {
		rows, err := p.rows.Rows(ctx, after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if kind != "" && r.Key.Kind != kind {
				return nil
			}
			if r.Err != nil {
				p.unread = cmp.Or(p.unread, r.Err) // the first one: there may be many
				continue
			}
			if err := do(r); err != nil {
				return err
			}
		}
		if len(rows) < rowsPerRead {
			return nil
		}
		after = rows[len(rows)-1].Key
	}
}

// findActor reads where the actor of a key is, and why.
func (p *actors) findActor(ctx context.Context, key placement.Key) (w whereabouts, err error) {
	row, err := p.rows.Row(ctx, key)
	if err != nil {
		return w, err
	}
	entry, err := p.rows.Load(ctx, key)
	if err != nil {
		return w, err
	}
	topology, err := p.topology(ctx)
	if err != nil {
		return w, err
	}
	alive, err := p.isAlive(ctx, row)
	if err != nil {
		return w, err
	}
	w = whereabouts{rowLine: newRowLine(row), Topology: topology.Version, Strategy: placement.Rendezvous{}.Name()}
	w.State = stateOf(row, entry, alive)
	if w.State == stateActive {
		w.Since = &entry.ObservedAt
	}
	if err := w.chooseMember(key, topology); err != nil {
		return w, err
	}
	w.Reason = w.explainPlace(row)
	return w, nil
}

// memberLine is a member in a listing.
type memberLine struct {
	Member   string            `json:"member"` // name#incarnation
	Address  string            `json:"address"`
	Kinds    []string          `json:"kinds"`
	Labels   map[string]string `json:"labels,omitempty"`
	Draining bool              `json:"draining"`
	Load     int64             `json:"load"`
	Topology int64             `json:"topology"`
}

func (m memberLine) Lines() []string {
	state := "alive"
	if m.Draining {
		state = "draining"
	}
	return []string{fmt.Sprintf("%-20s %-8s %-21s load %-8d kinds %s%s", shell.Word(m.Member), state, shell.Word(m.Address), m.Load, kindsText(m.Kinds), shell.Pairs(m.Labels))}
}

func kindsText(kinds []string) string {
	if len(kinds) == 0 {
		return "none"
	}
	return strings.Join(kinds, ",")
}

func membersCommand(c *shell.Console) *cobra.Command {
	var at hostFlags
	cmd := &cobra.Command{
		Use: "members", Short: "List the members that hold virtual actors", Args: shell.Arguments(cobra.NoArgs),
		Long: `List the members of the newest topology. One that was killed is listed until the others have
observed that it is dead.
` + database.About,
		Example: "  kazahana placement members --cluster-file /etc/foundationdb/fdb.cluster",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.withActors(cmd, func(ctx context.Context, p *actors) error {
				t, err := p.usedTopology(ctx)
				if err != nil {
					return err
				}
				for _, m := range t.Members {
					line := memberLine{m.Owner.String(), m.Address, m.Kinds, m.Labels, m.Draining, m.Load, t.Version}
					if err := c.Write(line); err != nil {
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

func forgetCommand(c *shell.Console) *cobra.Command {
	var at hostFlags
	cmd := &cobra.Command{
		Use: "forget-members", Short: "Make a copy of a database forget the members of the original", Args: shell.Arguments(cobra.NoArgs),
		Long: `Remove all members from a copy of a database, and give the copy a cluster id of its own. Use it in each
copy and after each restore, before the first host starts there. The copy lists the members of the original, so
that hosts and clients on it could call those, and has its cluster id, so that they would answer.

Do not use it on the original: each host there would lose its membership, end its actors, and join
again. The command shows the members, and asks.
` + database.About,
		Example: "  kazahana placement forget-members --cluster-file restored.cluster\n  kazahana placement forget-members --db data-restored --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := database.ReadKeys(cmd, func(ctx context.Context, db kv.Database) error {
				p, err := at.openActors(db)
				if err != nil {
					return err
				}
				t, err := p.usedTopology(ctx)
				if err != nil {
					return err
				}
				return c.Confirm(cmd, membersToForget(t, p.unread), "Forget all members, and give the cluster a new id?")
			})
			if err != nil {
				return err
			}
			return database.WriteKeys(cmd, func(ctx context.Context, db kv.Database) error {
				p, err := at.openActors(db)
				if err != nil {
					return err
				}
				n, err := p.members.Forget(ctx)
				if err != nil && !errors.Is(err, leasefdb.ErrState) { // of leases that it has passed over
					return err
				}
				return errors.Join(err, c.Write(forgotten{n}))
			})
		},
	}
	at.addTo(cmd)
	shell.AddYes(cmd)
	return cmd
}

// membersToForget says which members there are, and which of their rows cannot be read.
func membersToForget(t placement.Topology, unread error) (lines []string) {
	for _, m := range t.Members {
		lines = append(lines, fmt.Sprintf("the member %s at %s", shell.Word(m.Owner.String()), shell.Word(m.Address)))
	}
	if unread != nil {
		lines = append(lines, strings.Split(unread.Error(), "\n")...)
	}
	if len(lines) == 0 {
		lines = []string{"there are no members"}
	}
	return lines
}

// forgotten says how many members were removed.
type forgotten struct {
	Members int `json:"members"`
}

// Lines implements [shell.Result].
func (f forgotten) Lines() []string {
	return []string{"forgot " + database.Plural(f.Members, "member", "members") + "; the cluster has a new id"}
}

// hostFlags are the flags of the directory of placement.
type hostFlags struct{ path string }

func (f *hostFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "path", "kazahana", "`directory` with the directories members and placement: Options.Path of the programs' hosts, with / between its elements")
}

// withActors opens the database for reading, calls do, and closes it.
func (f *hostFlags) withActors(cmd *cobra.Command, do func(context.Context, *actors) error) error {
	return database.ReadKeys(cmd, func(ctx context.Context, db kv.Database) error {
		p, err := f.openActors(db)
		if err != nil {
			return err
		}
		return errors.Join(do(ctx, p), p.unread)
	})
}

func (f *hostFlags) openActors(db kv.Database) (_ *actors, err error) {
	p := &actors{path: f.path, db: db}
	if p.members, err = membership.New(db, membership.Options{Path: f.pathOf("members")}); err != nil {
		return nil, err
	}
	p.rows, err = kvstore.New(db, kvstore.Options{Members: p.members, Path: f.pathOf("placement")})
	return p, err
}

// pathOf returns the path of a directory below that of the flags.
func (f *hostFlags) pathOf(name string) []string {
	return append(strings.Split(f.path, "/"), name)
}
