// SPDX-License-Identifier: Apache-2.0

// Package placementotel counts the steps of the placement of virtual actors for OpenTelemetry.
//
//	counter, err := placementotel.NewCounter(otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	h, err := host.New(db, host.Options{Name: "bank-1", Events: counter.Count})
//
// It uses only the API; the program chooses SDK and exporter. There is one instrument:
//
//	kazahana.placement.events  counter {event}  with kazahana.placement.event, the name of a [placement.EventKind],
//	                                            and kazahana.placement.kind, the kind of the actor; topologies have none
//
// docs/placement.md says what to watch. A [Counter] is safe for concurrent use. Nothing here takes part in transactions.
package placementotel

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/placement"

// The attributes of the instrument.
const (
	eventKey = attribute.Key("kazahana.placement.event")
	kindKey  = attribute.Key("kazahana.placement.kind")
)

// Counter counts events by their kind and by the kind of their actor. Several hosts may share one.
type Counter struct{ events metric.Int64Counter }

// NewCounter creates the instrument in a meter of provider. The error is the provider's, if it does not
// like the instrument.
func NewCounter(provider metric.MeterProvider) (*Counter, error) {
	events, err := provider.Meter(scope).Int64Counter("kazahana.placement.events", metric.WithUnit("{event}"), metric.WithDescription("Steps of the placement of actors."))
	if err != nil {
		return nil, fmt.Errorf("placementotel: new counter: %w", err)
	}
	return &Counter{events}, nil
}

// Count counts an event. It does not block: give it to a host as its function for events.
func (c *Counter) Count(e placement.Event) {
	attributes := []attribute.KeyValue{eventKey.String(e.Kind.String())}
	if e.Key.Kind != "" {
		attributes = append(attributes, kindKey.String(e.Key.Kind))
	}
	c.events.Add(context.Background(), 1, metric.WithAttributes(attributes...))
}
