//go:build !lens_noop

package lenshttp

import (
	"context"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// serverMeters corrects the attributes of otelhttp's metrics of a server. It
// takes server.address and server.port from the Host header, which is the
// caller's to choose: 300 of them are 300 series. And it counts a code that
// nobody got.
type serverMeters struct {
	metric.MeterProvider
	address string
}

func (p serverMeters) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	m := serverMeter{Meter: p.MeterProvider.Meter(name, opts...)}
	host, port, err := net.SplitHostPort(p.address)
	if err != nil {
		host, port = p.address, ""
	}
	if host != "" {
		m.own = append(m.own, semconv.ServerAddress(host))
	}
	if n, err := strconv.Atoi(port); err == nil {
		m.own = append(m.own, semconv.ServerPort(n))
	}
	return m
}

type serverMeter struct {
	metric.Meter
	own []attribute.KeyValue
}

func (m serverMeter) Int64Histogram(name string, opts ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	h, err := m.Meter.Int64Histogram(name, opts...)
	return int64Histogram{h, m}, err
}

func (m serverMeter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	h, err := m.Meter.Float64Histogram(name, opts...)
	return float64Histogram{h, m}, err
}

type int64Histogram struct {
	metric.Int64Histogram
	meter serverMeter
}

func (h int64Histogram) Record(ctx context.Context, v int64, opts ...metric.RecordOption) {
	h.Int64Histogram.Record(ctx, v, h.meter.corrected(ctx, opts))
}

type float64Histogram struct {
	metric.Float64Histogram
	meter serverMeter
}

func (h float64Histogram) Record(ctx context.Context, v float64, opts ...metric.RecordOption) {
	h.Float64Histogram.Record(ctx, v, h.meter.corrected(ctx, opts))
}

func (m serverMeter) corrected(ctx context.Context, opts []metric.RecordOption) metric.RecordOption {
	set := metric.NewRecordConfig(opts).Attributes()
	attrs := make([]attribute.KeyValue, 0, set.Len()+len(m.own))
	span, _ := ctx.Value(spanKey{}).(*serverSpan)
	for i := set.Iter(); i.Next(); {
		kv := i.Attribute()
		switch kv.Key {
		case semconv.ServerAddressKey, semconv.ServerPortKey:
			continue
		case semconv.HTTPResponseStatusCodeKey:
			if span != nil && span.code == 0 {
				continue
			}
			if span != nil {
				kv = semconv.HTTPResponseStatusCode(span.code)
			}
		}
		attrs = append(attrs, kv)
	}
	return metric.WithAttributeSet(attribute.NewSet(append(attrs, m.own...)...))
}
