// SPDX-License-Identifier: Apache-2.0

// Package studio is a page over the database of the program that mounts it: directories, tenants, records,
// indexes, schemas, changes, leases, sizes and metrics. It is what the command kazahana ui serves; in the program it
// shows a database while the program uses it, an embedded one too, which no other program can open then.
//
//	pages, err := studio.New(db, studio.Options{Token: os.Getenv("STUDIO_TOKEN"), Hosts: []string{"admin.example.com:8081"}})
//	if err != nil {
//		return err
//	}
//	defer pages.Close() // before db; by http.Server.RegisterOnShutdown, so that streams do not hold up the end
//	mux.Handle("/studio/", http.StripPrefix("/studio", pages))
//
// Mount it at an address that users cannot reach, below any path or at the root of a listener. The page loads
// nothing from elsewhere.
//
// # Access
//
// The token shows all records of all tenants. A browser enters it once, in the body of a request, and gets a
// cookie that scripts cannot read and that other sites do not send. It holds until the program ends. Every program has a
// cookie of its own: where several are at one address, a proxy must lead a browser to the same one each time.
//
// Requests are answered that name this machine or one of Options.Hosts, so a proxy must pass on the header Host. It
// must not cut answers short: a stream of changes lasts. Serve over TLS, in the program or in the proxy, unless the
// network encrypts.
//
// # The command
//
// Below the page, at "transactions", the handler serves the database to programs that send the token: every verb of the
// command kazahana works on it with --attach URL. Such a connection lasts as long as the command. It needs HTTP/1.1, and a
// ResponseWriter that is not wrapped, or has a method Unwrap.
//
// # Writes
//
// Nothing is written unless Options.Write is set: the routes that write answer 403 without it, and commits of the command
// fail. With it the page creates, saves and
// deletes records, builds, repairs and drops indexes, and locks and removes tenants. It does so by the stored schema, not by
// the Go types: hooks do not run. What it removes it shows first, and asks.
package studio
