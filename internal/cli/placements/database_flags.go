// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// databaseVariable is the environment variable behind --database.
const databaseVariable = "KAZAHANA_DATABASE"

const aboutDatabase = `
--database says which database, as does the variable KAZAHANA_DATABASE:
  embedded:data               the folder of an embedded database, which no program has open
  fdb:/etc/…/fdb.cluster      a FoundationDB cluster (builds with the tag foundationdb)

Nothing is written.`

// databaseFlags are the flags of the database that a command reads.
type databaseFlags struct {
	at      string
	timeout time.Duration
}

func (f *databaseFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.at, "database", "", "`where` the database is; see above")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after this `duration`; 0: never")
}

// databases has the functions that open each kind of database for reading, by the scheme of its
// name.
var databases = map[string]func(rest string) (kv.Database, error){
	"embedded": openFolder,
	"fdb":      func(file string) (kv.Database, error) { return fdbkv.Open(file) },
}

// withDatabase opens the database, calls do, and closes it.
func (f *databaseFlags) withDatabase(cmd *cobra.Command, do func(context.Context, kv.Database) error) error {
	db, err := f.openDatabase(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("gave up after %v, as --timeout says: %w", f.timeout, context.DeadlineExceeded))
		defer cancel()
	}
	return errors.Join(do(ctx, db), db.Close())
}

func (f *databaseFlags) openDatabase(cmd *cobra.Command) (kv.Database, error) {
	at := f.at
	if at == "" {
		at = os.Getenv(databaseVariable)
	}
	if at == "" {
		return nil, shell.Misuse(cmd, errors.New("say which database: --database or "+databaseVariable))
	}
	scheme, rest, ok := strings.Cut(at, ":")
	open := databases[scheme]
	if !ok || open == nil {
		return nil, shell.Misuse(cmd, fmt.Errorf("--database begins with %q: it must begin with one of %s, and a colon", scheme, strings.Join(slices.Sorted(maps.Keys(databases)), ", ")))
	}
	db, err := open(rest)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return db, nil
}

func openFolder(dir string) (kv.Database, error) {
	if dir == "" {
		return nil, shell.Invalid(errors.New("embedded: which folder? As in embedded:data"))
	}
	return embedded.OpenWith(dir, embedded.Options{ReadOnly: true})
}
