// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// AnyStore is a store of any type: a generated store, or a pointer to a [Store].
type AnyStore interface{ Indexes() Indexes }

// Migrate brings the stores of a program's types, in all directories of the database, to the
// program's schema: it builds the indexes that are not readable there. It finds the stores by what
// is stored, so it needs no list of tenants. Each type is given by one of its stores, whatever the
// arguments of its directory are, even none:
//
//	m, err := persistable.Migrate(ctx, db, persistable.MigrateOptions{}, OrderStoreOf(db, ""), CustomerStoreOf(db, ""))
//	for _, other := range m.Others {
//		log.Printf("%s was not migrated", other)
//	}
//
// Migrate runs while programs read and write, and any number of processes may run it at once: they
// share the work of each store. After an interruption another call goes on. A store that cannot be
// migrated, such as one with records that share a unique value, stops no other one: the error joins
// those of all such stores, each with the path and the type, and wraps a *[NotUniqueError], a
// *[SchemaError], an [ErrLocked] and so on. ctx ends Migrate.
//
// Directories that were never written to have nothing to migrate: their first record makes the
// store with the program's schema.
//
// Cost: for each directory a transaction of its own with some rounds of reads, and what [Indexes.Build]
// costs for each store with an index that is not readable.
func Migrate(ctx context.Context, db *DB, o MigrateOptions, types ...AnyStore) (m Migration, err error) {
	if err := o.Validate(); err != nil {
		return m, err
	}
	if len(types) == 0 {
		return m, errors.New("persistable: Migrate got no types: pass a store of each, such as OrderStoreOf(db, \"\")")
	}
	g := migrator{db: db.Maintenance(), options: o}
	for i, t := range types {
		schema := t.Indexes().schema
		if schema == nil {
			return m, fmt.Errorf("persistable: Migrate: type %d of %d is the zero store: make it by its …StoreOf function", i+1, len(types))
		}
		g.schemas = append(g.schemas, schema)
	}
	err = g.run(ctx)
	return g.found, err
}

// MigrateOptions say how [Migrate] works. The zero value is ready to use.
type MigrateOptions struct {
	// Path is the directory in which Migrate looks for stores, and below it; nil for the whole database.
	Path []string
	// DryRun writes nothing: it only finds what there is to do.
	DryRun bool
	// Build says how indexes are built. Its Progress is called as well.
	Build BuildOptions
	// Progress, if it is not nil, is called before each store of the types, with its place and what will be
	// built there, and how many stores were looked at before.
	Progress func(next MigratedStore, done int)
}

// Validate reports all faults of the options.
func (o MigrateOptions) Validate() error { return o.Build.Validate() }

// Migration is what [Migrate] has found and done.
type Migration struct {
	// Stores is how many stores of the types were looked at.
	Stores int
	// Changed are those with indexes that were not readable, or that could not be migrated.
	Changed []MigratedStore
	// Others are stores in the database of which no type was given: types that were forgotten, or
	// those of other programs. A type given with another directory is among them, too.
	Others []MigratedStore
}

// MigratedStore is a store that [Migrate] has found.
type MigratedStore struct {
	Type    string
	Path    []string // of the directory
	Indexes []string // the names in keys of those that were built, or with DryRun that would be
	Err     error    // why it could not be migrated
}

// String shows the place of the store.
func (s MigratedStore) String() string {
	return fmt.Sprintf("the store of %s in the directory %s", s.Type, tenancy.QuotePath(s.Path))
}

// migrator is one run of Migrate.
type migrator struct {
	db      *DB
	options MigrateOptions
	schemas []*erased.Schema
	found   Migration
}

func (g *migrator) run(ctx context.Context) (faults error) {
	for at, err := range headers.Walk(ctx, g.db.engine, g.db.options.Layer, g.options.Path) {
		if errors.Is(err, directory.ErrNotFound) {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		if err != nil {
			return errors.Join(faults, err)
		}
		faults = errors.Join(faults, g.visit(ctx, MigratedStore{Type: at.Type, Path: at.Path}))
	}
	return faults
}

// visit migrates one store. Its error names the store.
func (g *migrator) visit(ctx context.Context, s MigratedStore) error {
	schema, args := g.schemaOf(s)
	if schema == nil {
		g.found.Others = append(g.found.Others, s)
		return nil
	}
	x, err := g.open(schema, args)
	if err == nil {
		s.Indexes, err = x.unreadable(ctx)
	}
	if errors.Is(err, ErrNotFound) { // it was removed during the walk
		return nil
	}
	if g.options.Progress != nil {
		g.options.Progress(s, g.found.Stores)
	}
	g.found.Stores++
	if err == nil && len(s.Indexes) > 0 && !g.options.DryRun {
		err = x.Build(ctx, g.options.Build)
	}
	if err != nil {
		err = fmt.Errorf("persistable: Migrate: %s: %w", s, err)
	}
	if s.Err = err; err != nil || len(s.Indexes) > 0 {
		g.found.Changed = append(g.found.Changed, s)
	}
	return err
}

// schemaOf returns the schema of a store's type, and the arguments of its directory; nil if none of
// the program's types is stored there.
func (g *migrator) schemaOf(s MigratedStore) (*erased.Schema, []string) {
	for _, schema := range g.schemas {
		if schema.Type != s.Type {
			continue
		}
		if args, ok := argumentsOf(schema, s.Path); ok {
			return schema, args
		}
	}
	return nil, nil
}

// argumentsOf returns the values of the {Field}s of a type's directory in a path. It reports false if the
// path is another one.
func argumentsOf(schema *erased.Schema, path []string) (args []string, ok bool) {
	if len(schema.Directory) != len(path) {
		return nil, false
	}
	for i, e := range schema.Directory {
		switch {
		case e.Field != "":
			args = append(args, path[i])
		case e.Name != path[i]:
			return nil, false
		}
	}
	return args, true
}

func (g *migrator) open(schema *erased.Schema, args []string) (Indexes, error) {
	e := openSource(g.db, schema, args)
	return Indexes{newSource(&e), schema}, e.Err
}
