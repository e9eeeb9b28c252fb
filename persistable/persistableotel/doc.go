// SPDX-License-Identifier: Apache-2.0

// Package persistableotel reports the operations of a persistable.DB to OpenTelemetry: a
// span for each, and histograms.
//
//	tracer, err := persistableotel.NewTracer(otel.GetTracerProvider(), otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	db, err := persistable.Open(ctx, engine, persistable.Options{Tracer: tracer})
//
// It uses the API alone; the program chooses SDK and exporter.
//
// # Spans
//
// A span is named after operation and type ("Create Order"), of kind client, and a child of
// the span in the caller's context. The spans of operations that belong to a
// transaction, by In, are children of that of Transact. Attributes, where they say something:
//
//	db.system.name                kazahana
//	db.operation.name             Create, Get, Page, Transact, …
//	db.collection.name            the type's name in keys
//	db.namespace                  the directory, as a path: that of the tenant
//	kazahana.index                the index that was asked for
//	kazahana.attempts             attempts of the transaction
//	kazahana.conflicts            those that failed because of another transaction
//	kazahana.throttled            those that a limit of their tags ended
//	kazahana.rounds               rounds of reads
//	kazahana.keys_read            pairs read
//	kazahana.bytes_read
//	kazahana.writes               Set, Clear, ClearRange and Atomic calls, of all attempts
//	kazahana.bytes_written
//
// Each conflict is an event named conflict. Its attribute kazahana.changed says what
// another transaction changed: type, record or index, directory.
//
// A span of an operation that fails has the status Error and the attribute error.type, but for
// persistable.ErrNotFound, which is an answer. With [Tracer.Values] it has the error as an event, too,
// and conflicts have the values of indexes. Both may be personal data, which the operators of
// collectors should not see without a reason.
//
// # Instruments
//
//	db.client.operation.duration     histogram s           with error.type if it failed
//	kazahana.operation.read_version  histogram s           the wait for read versions
//	kazahana.operation.commit        histogram s           the wait for commits
//	kazahana.operation.attempts      histogram {attempt}
//	kazahana.operation.conflicts     histogram {conflict}
//	kazahana.operation.throttled     histogram {attempt}
//	kazahana.operation.rounds        histogram {round}
//	kazahana.operation.keys_read     histogram {key}
//	kazahana.operation.bytes_read    histogram By
//	kazahana.operation.bytes_written histogram By
//
// All carry db.operation.name and db.collection.name, and kazahana.index; not the directory,
// of which there may be one for each tenant: [Tracer.TenantOf] adds kazahana.tenant, for so many tenants
// as a collector can bear. Operations that belong to a transaction count
// only in the duration. A wait is that of all attempts of an operation, answered or not. That for the
// read version grows first on a cluster that is near its limit, or that limits a tag.
package persistableotel
