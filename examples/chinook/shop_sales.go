// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

func (s shop) customer(ctx context.Context) (grid, error) {
	c, err := CustomerStoreOf(s.db).ByEmail(ctx, customerEmail)
	if err != nil {
		return grid{}, err
	}
	return grid{
		columns: []string{">number", "name", "company", "city", "country"},
		rows:    [][]string{{fmt.Sprint(c.Number), c.FirstName + " " + c.LastName, orNone(c.Company), c.Address.City, c.Country}},
	}, nil
}

func (s shop) invoices(ctx context.Context) (grid, error) {
	c, err := CustomerStoreOf(s.db).ByEmail(ctx, customerEmail)
	if err != nil {
		return grid{}, err
	}
	return fill(grid{columns: []string{"date", ">invoice", ">total"}},
		InvoiceStoreOf(s.db, c.Country).ByCustomerIDDate(c.ID).Reverse().All(ctx),
		func(i *Invoice) []string { return []string{day(i.Date), fmt.Sprint(i.Number), i.Total.String()} })
}

// lines reads a customer, an invoice, its lines and their tracks in one
// transaction: all are of one moment.
func (s shop) lines(ctx context.Context) (g grid, err error) {
	err = s.db.ReadTransact(ctx, func(tx persistable.Tx) error {
		c, err := CustomerStoreOf(s.db).In(tx).ByEmail(ctx, customerEmail)
		if err != nil {
			return err
		}
		invoice, err := InvoiceStoreOf(s.db, c.Country).In(tx).ByCustomerIDDate(c.ID).Reverse().First(ctx)
		if err != nil {
			return err
		}
		lines, err := InvoiceLineStoreOf(s.db, c.Country).In(tx).ByInvoiceIDThenNumber(invoice.ID).Slice(ctx)
		if err != nil {
			return err
		}
		g, err = s.withTracks(ctx, tx, lines)
		return err
	})
	return g, err
}

// withTracks shows lines with the tracks that they sell, fetched together.
func (s shop) withTracks(ctx context.Context, tx persistable.Tx, lines []*InvoiceLine) (grid, error) {
	wanted := make([]idgen.ID, len(lines))
	for i, line := range lines {
		wanted[i] = line.TrackID
	}
	tracks, err := TrackStoreOf(s.db).In(tx).GetMany(ctx, wanted)
	if err != nil {
		return grid{}, err
	}
	g := grid{columns: []string{">line", "track", ">quantity", ">price"}}
	for i, line := range lines {
		name := "(no longer sold)" // GetMany returns nil for a missing record
		if tracks[i] != nil {
			name = tracks[i].Name
		}
		g.rows = append(g.rows, []string{fmt.Sprint(line.Number), name, fmt.Sprint(line.Quantity), line.Price.String()})
	}
	return g, nil
}

// supported states what is wanted and leaves it to Find which index serves. An
// index that ends in further fields would do as well; without any, Find says so
// and reads nothing.
func (s shop) supported(ctx context.Context) (grid, error) {
	agent, err := EmployeeStoreOf(s.db).ByEmail(ctx, agentEmail)
	if err != nil {
		return grid{}, err
	}
	found, err := CustomerStoreOf(s.db).Find(
		CustomerFields.SupportRepID.Equal(agent.ID),
		CustomerFields.Company.Equal(nil),
		CustomerFields.Country.Equal(agentCountry),
	)
	if err != nil {
		return grid{}, err
	}
	return fill(grid{columns: []string{">number", "name", "city", "email"}}, found.All(ctx),
		func(c *Customer) []string {
			return []string{fmt.Sprint(c.Number), c.FirstName + " " + c.LastName, c.Address.City, c.Email}
		})
}

// sales are the sales of a country.
type sales struct {
	country string
	count   int
	total   Cents
	newest  time.Time
}

// countries sums up the sales of every tenant. The directory knows which
// tenants there are.
func (s shop) countries(ctx context.Context) (grid, error) {
	countries, err := s.db.ListDirectory(ctx, "countries")
	if err != nil {
		return grid{}, err
	}
	all := make([]sales, len(countries))
	for i, country := range countries {
		if all[i], err = s.sales(ctx, country); err != nil {
			return grid{}, err
		}
	}
	slices.SortFunc(all, func(a, b sales) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.country, b.country))
	})
	g := grid{columns: []string{"country", ">invoices", ">total", "newest"}}
	for _, c := range all[:min(bestCountries, len(all))] {
		g.rows = append(g.rows, []string{c.country, fmt.Sprint(c.count), c.total.String(), day(c.newest)})
	}
	return g, nil
}

func (s shop) sales(ctx context.Context, country string) (sales, error) {
	sum := sales{country: country}
	for i, err := range InvoiceStoreOf(s.db, country).OrderedByDate().All(ctx) {
		if err != nil {
			return sales{}, err
		}
		sum.count++
		sum.total += i.Total
		sum.newest = i.Date
	}
	return sum, nil
}
