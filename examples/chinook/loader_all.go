// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
)

// loadAll loads the whole data set and returns the number of rows that it stored.
// Each table comes after the tables that its rows refer to.
func loadAll(ctx context.Context, db *persistable.DB, data *dataset, show progress) (stored int, err error) {
	l := &loader{
		db: db, data: data, show: show,
		artists: ids{}, albums: ids{}, tracks: ids{}, employees: ids{}, customers: ids{},
	}
	defer show.finish()
	for _, load := range []func(context.Context) (int, error){
		func(ctx context.Context) (int, error) { return loadTable(ctx, l, "artists", l.artistTable()) },
		func(ctx context.Context) (int, error) { return loadTable(ctx, l, "albums", l.albumTable()) },
		func(ctx context.Context) (int, error) { return loadTable(ctx, l, "tracks", l.trackTable()) },
		func(ctx context.Context) (int, error) { return loadTable(ctx, l, "employees", l.employeeTable()) },
		func(ctx context.Context) (int, error) { return loadTable(ctx, l, "customers", l.customerTable()) },
		l.loadInvoices,
	} {
		n, err := load(ctx)
		stored += n
		if err != nil {
			return stored, err
		}
	}
	return stored, nil
}

func loadTable[Row row](ctx context.Context, l *loader, name string, t table[Row]) (int, error) {
	n, err := load(ctx, l, t, l.show.start(name, len(t.rows)))
	if err != nil {
		return n, fmt.Errorf("loading %s: %w", name, err)
	}
	return n, nil
}

// loadInvoices loads the invoices with their lines, country by country.
func (l *loader) loadInvoices(ctx context.Context) (stored int, err error) {
	countries, invoices := l.data.byCountry()
	lines := l.data.linesByInvoice()
	step := l.show.start("invoices", len(l.data.Invoice))
	for _, country := range countries {
		n, err := load(ctx, l, l.invoiceTable(country, invoices[country], lines), step)
		stored += n
		if err != nil {
			return stored, fmt.Errorf("loading invoices of %s: %w", country, err)
		}
	}
	return stored, nil
}
