// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// feedCommand returns kazahana feed.
func feedCommand(c *shell.Console) *cobra.Command {
	return shell.Group("feed", "Show changes of records in the order of commits", tailCommand(c))
}

// feedOptions are the flags of feed tail.
type feedOptions struct {
	since  string
	follow bool
	limit  int
	token  string
}

// The words of --since.
const (
	feedBeginning = "beginning"
	feedNow       = "now"
)

func tailCommand(c *shell.Console) *cobra.Command {
	var o feedOptions
	cmd := &cobra.Command{
		Use: "tail PATH", Short: "Show the last change of each record, deletions too", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the changes of the records in a directory, in the order of commits. The type of the records must have
versions. Each record is there once, with its last change: as it is now, or as deleted, until the
program's Feed().Prune forgets deletions. --since says after which version to begin: a version that this
command has shown, "beginning" or "now". Without it, --follow begins now, and otherwise all changes are
shown. If there are more than --limit, the token of the next page is written to the standard error output, with --json as
{"next": "…"}; --token goes on there.

With --follow it goes on until Ctrl-C, and shows a change as soon as it is committed: it waits with a watch.
It only reads, so it does not disturb programs that write. No other program can change an embedded database
that this command has open, so --follow is for clusters.

PATH is the directory of the records. Where it has records of several types, --type says which.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana feed tail tenants/tenant-1/orders --db data\n  kazahana feed tail events --follow --json --cluster-file fdb.cluster",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				s, err := database.OpenStore(ctx, cmd, db, args[0])
				if err != nil {
					return err
				}
				return tailFeed(ctx, c, db, s, o)
			})
		},
	}
	flags := cmd.Flags()
	database.AddTypeFlag(cmd)
	flags.StringVar(&o.since, "since", "", "begin after this `version`, at the "+feedBeginning+", or "+feedNow)
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on until Ctrl-C")
	flags.IntVar(&o.limit, "limit", 0, "`number` of changes to show at most; 0: all")
	shell.AddToken(cmd, &o.token)
	return cmd
}

// check refuses flags that mean nothing.
func (o *feedOptions) check(cmd *cobra.Command) error {
	if o.limit < 0 {
		return shell.Misuse(cmd, errors.New("--limit: it must not be negative"))
	}
	if o.token != "" {
		return o.checkToken(cmd)
	}
	if o.since == "" {
		o.since = feedBeginning
		if o.follow {
			o.since = feedNow
		}
	}
	if o.since != feedBeginning && o.since != feedNow && !isVersion(o.since) {
		return shell.Invalid(fmt.Errorf("--since: %q is neither %q nor %q nor a version, which has 24 hexadecimal digits", o.since, feedBeginning, feedNow))
	}
	return nil
}

// checkToken makes the changes begin after the page that gave the token, which is the
// version of its last change.
func (o *feedOptions) checkToken(cmd *cobra.Command) error {
	switch {
	case o.since != "":
		return shell.Misuse(cmd, fmt.Errorf("--%s and --since exclude each other", shell.TokenFlag))
	case !isVersion(o.token):
		return shell.Invalid(fmt.Errorf("--%s: %q is not a token that this command has written", shell.TokenFlag, o.token))
	}
	o.since = o.token
	return nil
}

// isVersion reports whether a text is that of a version.
func isVersion(text string) bool {
	var v persistable.Version
	return v.UnmarshalText([]byte(text)) == nil
}

// start returns the version after which the changes begin.
func (o feedOptions) start(ctx context.Context, db *persistable.DB) (v persistable.Version, err error) {
	switch o.since {
	case feedBeginning:
		return v, nil
	case feedNow:
		return currentVersion(ctx, db)
	}
	return v, v.UnmarshalText([]byte(o.since))
}

// currentVersion returns a version that is not less than those of all commits that a
// transaction sees which begins now, and less than those of all later ones.
func currentVersion(ctx context.Context, db *persistable.DB) (v persistable.Version, err error) {
	err = db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		read, err := tx.GetReadVersion().Get(ctx)
		binary.BigEndian.PutUint64(v[:8], uint64(read))
		binary.BigEndian.PutUint32(v[8:], 1<<32-1)
		return err
	})
	return v, err
}

// tailFeed shows changes until there are no more, or, where it follows, until ctx ends.
func tailFeed(ctx context.Context, c *shell.Console, db *persistable.DB, s *dynamic.Store, o feedOptions) error {
	since, err := o.start(ctx, db)
	if err != nil {
		return err
	}
	shown := 0
	for {
		for change, err := range s.Feed().Changes(ctx, since) {
			if err != nil {
				return o.end(ctx, err)
			}
			if o.limit > 0 && shown == o.limit {
				return c.WriteNext(since.String())
			}
			if err := c.Write(newFeedLine(change)); err != nil {
				return err
			}
			since = change.Version
			shown++
		}
		if !o.follow || o.limit > 0 && shown == o.limit {
			return nil
		}
		if err := s.Feed().Await(ctx, since); err != nil {
			return o.end(ctx, err)
		}
	}
}

// end makes Ctrl-C the regular end of a tail that follows.
func (o feedOptions) end(ctx context.Context, err error) error {
	if o.follow && errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}

// feedLine is a change.
type feedLine struct {
	Version persistable.Version `json:"version"`
	ID      string              `json:"id"`
	Deleted bool                `json:"deleted"`
	Record  *dynamic.Record     `json:"record,omitempty"`
}

func newFeedLine(c persistable.Change[*dynamic.Record, dynamic.ID]) feedLine {
	return feedLine{c.Version, c.ID.String(), c.Deleted, c.Record}
}

// Lines implements [shell.Result].
func (l feedLine) Lines() []string {
	if l.Deleted {
		return []string{fmt.Sprintf("%v  %s  deleted", l.Version, shell.Word(l.ID))}
	}
	text, err := json.Marshal(l.Record)
	if err != nil {
		text = []byte(err.Error())
	}
	return []string{fmt.Sprintf("%v  %s  %s", l.Version, shell.Word(l.ID), text)}
}
