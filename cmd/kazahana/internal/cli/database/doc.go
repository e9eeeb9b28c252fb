// SPDX-License-Identifier: Apache-2.0

// Package database has what the verbs over a database share: the flags that say which
// one, its opening for reading and for writing, and paths of directories as arguments.
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
// commands of a [Session] share an opened database and a working directory.
package database
