// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
)

func (c *command) placement() *cobra.Command {
	g := shell.Group("placement", "Show where virtual actors are, and why", c.placementShow(), c.placementList(), c.placementMembers())
	g.Long = "Show where virtual actors are, and why.\n" + aboutDatabase
	return g
}

// placementFlags say where placement keeps what it knows.
type placementFlags struct {
	databaseFlags
	path string
}

func (f *placementFlags) add(cmd *cobra.Command) {
	f.databaseFlags.add(cmd)
	cmd.Flags().StringVar(&f.path, "path", "kazahana", "`directory` with the directories members and placement: Options.Path of the programs' hosts, with / between its elements")
}

// placed is a database with virtual actors.
type placed struct {
	path    string
	db      kv.Database
	members *membership.Registry
	rows    *kvstore.Store
}

// with opens the database, calls do, and closes it.
func (f *placementFlags) with(cmd *cobra.Command, do func(context.Context, placed) error) error {
	return f.databaseFlags.with(cmd, func(ctx context.Context, db kv.Database) error {
		p, err := f.open(db)
		if err != nil {
			return err
		}
		return do(ctx, p)
	})
}

func (f *placementFlags) open(db kv.Database) (p placed, err error) {
	p.path, p.db = f.path, db
	if p.members, err = membership.New(db, membership.Options{Path: f.below("members")}); err != nil {
		return p, err
	}
	p.rows, err = kvstore.New(db, kvstore.Options{Members: p.members, Path: f.below("placement")})
	return p, err
}

// below returns the path of a directory below that of the flags.
func (f *placementFlags) below(name string) []string {
	return append(strings.Split(f.path, "/"), name)
}

// checkUsed returns an error if there never was a member.
func (p placed) checkUsed(ctx context.Context) error {
	t, err := p.members.Topology(ctx, p.db)
	if err != nil || t.Version > 0 {
		return err
	}
	return fmt.Errorf("no host has ever joined below the directory %q of this database; --path must be the Options.Path of its hosts", p.path)
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
	return []string{fmt.Sprintf("%-20s %-8s %-21s load %-8d kinds %s%s", shell.Word(m.Member), state, shell.Word(m.Address), m.Load, kindsText(m.Kinds), describe(m.Labels))}
}

func kindsText(kinds []string) string {
	if len(kinds) == 0 {
		return "none"
	}
	return strings.Join(kinds, ",")
}

func (c *command) placementMembers() *cobra.Command {
	var at placementFlags
	cmd := &cobra.Command{
		Use: "members", Short: "List the members that hold virtual actors", Args: shell.Arguments(cobra.NoArgs),
		Long: `List the members of the newest topology. One that was killed is listed until the others have
observed that it is dead.
` + aboutDatabase,
		Example: "  kazahana placement members --database fdb:/etc/foundationdb/fdb.cluster",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.with(cmd, func(ctx context.Context, p placed) error {
				if err := p.checkUsed(ctx); err != nil {
					return err
				}
				t, err := p.members.Topology(ctx, p.db)
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
	at.add(cmd)
	return cmd
}

func (c *command) placementList() *cobra.Command {
	var (
		at    placementFlags
		kind  string
		owner string
		free  bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List the virtual actors and who has them", Args: shell.Arguments(cobra.NoArgs),
		Long: `List the virtual actors that a member has, a line each. A member that has died has its actors
until they are called again.
` + aboutDatabase,
		Example: "  kazahana placement list --database embedded:data --kind account --owner bank-1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.with(cmd, func(ctx context.Context, p placed) error {
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
				return p.checkUsed(ctx)
			})
		},
	}
	at.add(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only those of this `kind`")
	cmd.Flags().StringVar(&owner, "owner", "", "only those that the member of this `name` has")
	cmd.Flags().BoolVar(&free, "free", false, "also those that no member has any more")
	return cmd
}

// rowsPerRead is how many rows one transaction reads.
const rowsPerRead = 1000

// eachRow calls do with each row, or each of a kind.
func (p placed) eachRow(ctx context.Context, kind string, do func(kvstore.Row) error) error {
	for after := (placement.Key{Kind: kind}); ; {
		rows, err := p.rows.Rows(ctx, after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if kind != "" && r.Key.Kind != kind {
				return nil
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
