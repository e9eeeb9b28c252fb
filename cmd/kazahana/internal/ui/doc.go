// SPDX-License-Identifier: Apache-2.0

// Package ui serves a page over a database: directories, tenants, records, indexes, schemas,
// changes, leases, sizes and metrics. It is an [http.Handler] with a JSON API and embedded files;
// a page loads nothing from elsewhere.
//
//	pages, err := ui.New(db, ui.Options{Database: "the folder data"})
//	if err != nil {
//		return err
//	}
//	defer pages.Close()
//	go http.Serve(listener, pages)
//	fmt.Println(pages.Link("http://" + listener.Addr().String()))
//
// # Writes
//
// Nothing is written unless Options.Write is set: the routes that write answer 403 without it.
// What the page removes it shows first, and asks.
//
// # Access
//
// Package internal/access says which requests are answered.
package ui
