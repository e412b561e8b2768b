package console

import (
	"io"

	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/nemo-lens/lens/internal/export/wholeline"
)

// NewMetricExporter returns an exporter that writes each collection to w, in the
// format of stdoutmetric, as one line and with one Write. Of opts, those that set
// the destination or the encoder have no effect.
func NewMetricExporter(w io.Writer, opts ...stdoutmetric.Option) (metric.Exporter, error) {
	opts = append(opts[:len(opts):len(opts)], stdoutmetric.WithEncoder(encoder{wholeline.New(w)}))
	return stdoutmetric.New(opts...)
}

type encoder struct{ out *wholeline.Writer }

func (e encoder) Encode(v any) error {
	line, err := marshal(v)
	if err != nil {
		return err
	}
	_, err = e.out.Write(append(line, '\n'))
	return err
}
