// SPDX-License-Identifier: Apache-2.0

// Package database has what the verbs over a database share: the flags that say which
// one, its opening for reading and for writing, paths of directories, stores and keys as
// arguments, and a survey of its directories.
//
//	database.AddFlags(root) // --db, --cluster-file, --timeout
//	verb.RunE = func(cmd *cobra.Command, args []string) error {
//		path, err := database.ParsePath(cmd, args[0]) // tenants/tenant-1/orders
//		if err != nil {
//			return err
//		}
//		return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
//			names, err := db.ListDirectory(ctx, path...)
//			…
//		})
//	}
//
// [Read] writes nothing: it opens the folder of an embedded database read-only, and the
// stores of a cluster. [Write] opens no folder without a database. The
// commands of a [Session] share an opened database and a working directory. A [Survey] reads
// which directories there are, with their types and sizes, for the verbs that show, move and
// remove directories.
package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// About says in the help of a verb which database it uses.
const About = `
The database is that of --db (KAZAHANA_DB), the folder of an embedded database that no program has
open, or of --cluster-file (KAZAHANA_CLUSTER_FILE), a FoundationDB cluster, or of --attach
(KAZAHANA_ATTACH), the one that a running program serves with its page; KAZAHANA_ATTACH_TOKEN or
--attach-token-file has the token of the page.`

const timeoutFlag = "timeout"

// AddFlags adds the flags of the database to the root of all commands.
func AddFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.String(folderFlag, "", "the database in this `folder`, which no program has open; also "+FolderVariable)
	flags.String(clusterFlag, "", "the FoundationDB cluster of this `file`; also "+ClusterVariable)
	flags.String(attachFlag, "", "the database of the running program whose page has this `URL`; also "+attachVariable)
	flags.String(attachTokenFlag, "", "the `file` with the token of that page; "+attachTokenVariable+" has it otherwise")
	flags.Duration(timeoutFlag, 0, "give up after this `duration`; 0: never")
	_ = root.MarkPersistentFlagDirname(folderFlag) // the flag is there
	_ = root.MarkPersistentFlagFilename(clusterFlag)
	_ = root.MarkPersistentFlagFilename(attachTokenFlag)
}

// Folder returns the folder of the embedded database of a verb that has no meaning for a
// cluster.
func Folder(cmd *cobra.Command) (string, error) {
	if s := sessionOf(cmd); s != nil {
		return "", shell.Misuse(cmd, fmt.Errorf("%s is open in this shell: run this verb outside of it", s.at))
	}
	p, err := placeOf(cmd)
	if err == nil && p.folder == "" {
		err = shell.Misuse(cmd, fmt.Errorf("this is for folders of embedded databases: give --%s; clusters have tools of their own, fdbbackup and fdbrestore", folderFlag))
	}
	return p.folder, err
}

// Refuse makes a verb that uses no database of these flags refuse them.
func Refuse(group *cobra.Command) *cobra.Command {
	group.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range placeFlags {
			if f := cmd.Flag(name); f != nil && f.Changed {
				return shell.Misuse(cmd, fmt.Errorf("--%s: this command uses no such database", name))
			}
		}
		return nil
	}
	return group
}

// Read opens the database that the flags of a command name for reading, calls do, and
// closes it; a [Session] keeps it open. It writes nothing.
func Read(cmd *cobra.Command, do func(context.Context, *persistable.DB) error) error {
	return Open(cmd, false, do)
}

// Write is [Read] for a verb that writes.
func Write(cmd *cobra.Command, do func(context.Context, *persistable.DB) error) error {
	return Open(cmd, true, do)
}

// ReadKeys is [Read] for a verb over keys, whatever they mean.
func ReadKeys(cmd *cobra.Command, do func(context.Context, kv.Database) error) error {
	return withEngine(cmd, false, do)
}

// WriteKeys is [Write] for a verb over keys, whatever they mean.
func WriteKeys(cmd *cobra.Command, do func(context.Context, kv.Database) error) error {
	return withEngine(cmd, true, do)
}

// Open is [Write] for a verb that writes, and otherwise [Read].
func Open(cmd *cobra.Command, writes bool, do func(context.Context, *persistable.DB) error) error {
	return withSession(cmd, func(ctx context.Context, s *Session) error {
		db, err := s.openStores(ctx, writes)
		if err != nil {
			return err
		}
		return do(ctx, db)
	})
}

func withEngine(cmd *cobra.Command, writes bool, do func(context.Context, kv.Database) error) error {
	return withSession(cmd, func(ctx context.Context, s *Session) error {
		engine, err := s.openEngine(ctx, writes)
		if err != nil {
			return err
		}
		return do(ctx, engine)
	})
}

// withSession calls do with the session of a command, or with one that ends with the
// command.
func withSession(cmd *cobra.Command, do func(context.Context, *Session) error) error {
	ctx, cancel, err := limit(cmd)
	if err != nil {
		return err
	}
	defer cancel()
	if s := sessionOf(cmd); s != nil {
		if err := s.checkFlags(cmd); err != nil {
			return err
		}
		return explainEnd(ctx, do(ctx, s))
	}
	s, err := NewSession(cmd)
	if err != nil {
		return err
	}
	return errors.Join(explainEnd(ctx, do(ctx, s)), s.Close())
}

// WithBoth calls do with the folder and the cluster file of a verb that uses both databases.
func WithBoth(cmd *cobra.Command, do func(ctx context.Context, folder, clusterFile string) error) error {
	if s := sessionOf(cmd); s != nil {
		return shell.Misuse(cmd, fmt.Errorf("%s is open in this shell: run this verb outside of it", s.at))
	}
	folder := cmp.Or(cmd.Flag(folderFlag).Value.String(), os.Getenv(FolderVariable))
	cluster := cmp.Or(cmd.Flag(clusterFlag).Value.String(), os.Getenv(ClusterVariable))
	if folder == "" || cluster == "" {
		return shell.Misuse(cmd, fmt.Errorf("say both databases: --%s FOLDER (%s) and --%s FILE (%s)", folderFlag, FolderVariable, clusterFlag, ClusterVariable))
	}
	ctx, cancel, err := limit(cmd)
	if err != nil {
		return err
	}
	defer cancel()
	return explainEnd(ctx, do(ctx, folder, cluster))
}

// limit returns the context of a command, which ends after --timeout.
func limit(cmd *cobra.Command) (context.Context, context.CancelFunc, error) {
	after, err := cmd.Flags().GetDuration(timeoutFlag)
	if err == nil {
		err = shell.AtLeast(cmd, timeoutFlag, after, 0)
	}
	if err != nil || after == 0 {
		return cmd.Context(), func() {}, err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), after, &timeoutError{after.String()})
	return ctx, cancel, nil
}

// timeoutError says that --timeout has passed.
type timeoutError struct{ after string }

// Error implements error.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("gave up after %s, as --%s says", e.after, timeoutFlag)
}

// explainEnd adds to the error of a command that its time has passed.
func explainEnd(ctx context.Context, err error) error {
	if late := (*timeoutError)(nil); err != nil && errors.As(context.Cause(ctx), &late) {
		return fmt.Errorf("%w: %w", late, err)
	}
	return err
}

// OpenFolder opens the database of a folder for reading. It writes nothing.
func OpenFolder(folder string) (*embedded.Database, error) {
	db, err := embedded.Open(folder, embedded.Options{ReadOnly: true})
	return db, ExplainMissing(folder, err)
}

// openFolder opens the database of a folder for writing.
func openFolder(folder string) (kv.Database, error) {
	if IsForeign(folder) {
		return nil, ExplainMissing(folder, iofs.ErrNotExist)
	}
	return embedded.Open(folder)
}

// ExplainMissing adds advice to the error of a folder without a database.
func ExplainMissing(folder string, err error) error {
	if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if below := databaseBelow(folder); below != "" {
		return fmt.Errorf("there is no database in the folder %s; there is one in %s (%w)", shell.Word(folder), shell.Word(below), err)
	}
	return fmt.Errorf("there is no database in the folder %s: is it the one that the program opens? (%w)", shell.Word(folder), err)
}

// databaseBelow returns the first folder in a folder that has a database, or "".
func databaseBelow(folder string) string {
	entries, _ := os.ReadDir(folder) // if there are none, there is nothing to propose
	for _, e := range entries {
		if below := filepath.Join(folder, e.Name()); e.IsDir() && !IsForeign(below) {
			return below
		}
	}
	return ""
}

// IsForeign reports whether a folder has no file of a database.
func IsForeign(folder string) bool {
	for _, name := range []string{"IDENTITY", "CLOSED", "BACKUP", "UNFINISHED", "base"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); !errors.Is(err, iofs.ErrNotExist) {
			return false
		}
	}
	segments, err := filepath.Glob(filepath.Join(folder, "*.log"))
	return err == nil && len(segments) == 0
}

// ExitMissing is the exit code of a verb that does not find what it is to show or
// change: a directory, a tenant, a type, a record, a key.
const ExitMissing = 4

// Missing says that something does not exist.
func Missing(err error) error { return &shell.ExitError{Code: ExitMissing, Err: err} }

// mostSuggested is among how many names a similar one is looked for, so that one
// transaction reads them.
const mostSuggested = 10_000

// MissingDirectory is the error of a path without a directory. It names the part of the
// path that exists, and what is there under a similar name.
func MissingDirectory(ctx context.Context, db *persistable.DB, path []string) error {
	for n := len(path); n > 0; n-- {
		names, err := db.Layer().ListAfter(ctx, db.Engine(), path[:n-1], "", mostSuggested)
		if errors.Is(err, directory.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		return Missing(fmt.Errorf("there is no directory %s: %s has no %s%s",
			QuotePath(path), placeName(path[:n-1]), quoteElement(path[n-1]), didYouMean(path[n-1], names)))
	}
	return Missing(fmt.Errorf("there is no directory %s", QuotePath(path)))
}

func placeName(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	return QuotePath(path)
}

// quoteElement returns the text of an element of a path as [QuotePath] writes it.
func quoteElement(name string) string { return shell.Argument(FormatElement(name)) }

// didYouMean suggests the name that is nearest to a mistyped one.
func didYouMean(mistyped string, names []string) string {
	near, distance := nearest.Word(mistyped, names)
	switch {
	case len(names) == 0:
		return "; it has no directories at all"
	case distance <= max(2, len(mistyped)/4):
		return ": did you mean " + quoteElement(near) + "?"
	}
	var some []string
	for _, name := range names[:min(len(names), mostNamed)] {
		some = append(some, quoteElement(name))
	}
	return "; it has " + strings.Join(some, ", ") + others(len(names)-len(some))
}

// mostNamed is how many names of directories an error lists.
const mostNamed = 5

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// OpenDirectory opens the directory at a path, other than the root, for reading. If
// there is none the error is that of [MissingDirectory].
func OpenDirectory(ctx context.Context, db *persistable.DB, path []string) (*directory.Directory, error) {
	if len(path) == 0 {
		return nil, shell.Invalid(errors.New("the root has no keys of its own: name a directory in it"))
	}
	d, err := db.Layer().Open(ctx, db.Engine(), path)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, MissingDirectory(ctx, db, path)
	}
	return d, err
}
