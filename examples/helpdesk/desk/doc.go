// SPDX-License-Identifier: Apache-2.0

// Package desk is the help desk without HTTP: the registry of its tenants, and what one
// tenant does with its tickets.
//
//	registry := desk.NewRegistry(db)
//	key, err := registry.Add(ctx, "acme")         // the key is shown once
//	acme, err := registry.Authenticate(ctx, key)  // a *desk.Desk
//	t, err := acme.Create(ctx, records.Ticket{Subject: "…", Requester: "ada@example.com"})
//	t, err = acme.Change(ctx, t.ID, t.Version, desk.Patch{Status: &closed})
//
// Each function that writes is one transaction, which also reads the tenant's entry in
// the registry: so a tenant that is removed, or whose key is replaced, writes nothing more.
package desk
