// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

func (l *loader) employeeTable() table[employeeRow] {
	store := EmployeeStoreOf(l.db)
	return table[employeeRow]{
		rows:  l.data.Employee,
		known: l.employees,
		find:  finder(store.OrderedByNumber(), func(e *Employee) (int64, idgen.ID) { return e.Number, e.ID }),
		make: func(r employeeRow) (idgen.ID, save, error) {
			var superior *idgen.ID
			if r.ReportsTo != nil { // the superior comes first in the file
				id, err := l.employees.of("employee", *r.ReportsTo)
				if err != nil {
					return 0, nil, err
				}
				superior = &id
			}
			home := Address{r.Address, r.City, r.State.value(), r.PostalCode.value(), r.Phone.value(), r.Fax.value()}
			e := store.New(Employee{
				Number: r.EmployeeID, LastName: r.LastName, FirstName: r.FirstName, Title: r.Title, Email: r.Email,
				ReportsTo: superior, BirthDate: r.BirthDate.Time, HireDate: r.HireDate.Time, Address: home, Country: r.Country,
			})
			return e.ID, func(ctx context.Context, tx persistable.Tx) error { return store.In(tx).Create(ctx, e) }, nil
		},
	}
}

func (l *loader) customerTable() table[customerRow] {
	store := CustomerStoreOf(l.db)
	return table[customerRow]{
		rows:  l.data.Customer,
		known: l.customers,
		find:  finder(store.OrderedByNumber(), func(c *Customer) (int64, idgen.ID) { return c.Number, c.ID }),
		make: func(r customerRow) (idgen.ID, save, error) {
			agent, err := l.employees.of("employee", r.SupportRepID)
			if err != nil {
				return 0, nil, err
			}
			home := Address{r.Address, r.City, r.State.value(), r.PostalCode.value(), r.Phone.value(), r.Fax.value()}
			c := store.New(Customer{
				Number: r.CustomerID, FirstName: r.FirstName, LastName: r.LastName, Email: r.Email,
				Company: r.Company.value(), Address: home, Country: r.Country, SupportRepID: agent,
			})
			return c.ID, func(ctx context.Context, tx persistable.Tx) error { return store.In(tx).Create(ctx, c) }, nil
		},
	}
}

// invoiceTable is the table of the invoices of one country. An invoice and its
// lines are stored by one transaction: an invoice that is there has its lines.
func (l *loader) invoiceTable(country string, rows []invoiceRow, lines map[int64][]lineRow) table[invoiceRow] {
	store := InvoiceStoreOf(l.db, country)
	return table[invoiceRow]{
		rows:  rows,
		known: ids{},
		find:  finder(store.OrderedByNumber(), func(i *Invoice) (int64, idgen.ID) { return i.Number, i.ID }),
		make: func(r invoiceRow) (idgen.ID, save, error) {
			customer, err := l.customers.of("customer", r.CustomerID)
			if err != nil {
				return 0, nil, err
			}
			billing := Address{
				Street: r.BillingAddress, City: r.BillingCity,
				State: r.BillingState.value(), PostalCode: r.BillingPostalCode.value(),
			}
			i := store.New(Invoice{Number: r.InvoiceID, CustomerID: customer, Date: r.InvoiceDate.Time, Billing: billing, Total: Cents(r.Total)})
			made, err := l.makeLines(i, lines[r.InvoiceID])
			return i.ID, func(ctx context.Context, tx persistable.Tx) error { return l.saveInvoice(ctx, tx, i, made) }, err
		},
	}
}

func (l *loader) makeLines(i *Invoice, rows []lineRow) ([]*InvoiceLine, error) {
	store, lines := InvoiceLineStoreOf(l.db, i.Country), make([]*InvoiceLine, len(rows))
	for n, r := range rows {
		track, err := l.tracks.of("track", r.TrackID)
		if err != nil {
			return nil, err
		}
		lines[n] = store.New(InvoiceLine{
			InvoiceID: i.ID, Number: r.InvoiceLineID, TrackID: track, Price: Cents(r.UnitPrice), Quantity: r.Quantity,
		})
	}
	return lines, nil
}

func (l *loader) saveInvoice(ctx context.Context, tx persistable.Tx, i *Invoice, lines []*InvoiceLine) error {
	if err := InvoiceStoreOf(l.db, i.Country).In(tx).Create(ctx, i); err != nil {
		return err
	}
	store := InvoiceLineStoreOf(l.db, i.Country).In(tx)
	for _, line := range lines {
		if err := store.Create(ctx, line); err != nil {
			return err
		}
	}
	return nil
}
