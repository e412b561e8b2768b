package otlp

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/settings"
)

// things is what the items of a signal are called.
var things = map[settings.Signal]string{
	settings.Traces: "spans", settings.Metrics: "data points", settings.Logs: "log records"}

// exchange is one request with the place for its answer.
type exchange struct {
	request, response proto.Message
	partial           func() (rejected int64, message string) // of the response
	first             func() string                           // names the first item, where it is the only one
}

// deliver sends n items in one request or, where they are too large for one, in
// several, which requestFor makes. What is lost is counted in the error.
func (c *client) deliver(ctx context.Context, n int, requestFor func(from, to int) exchange) error {
	return guard.Split(ctx, things[c.settings.Signal], n, func(from, to int) error {
		x := requestFor(from, to)
		if size := proto.Size(x.request); size > guard.RequestBytes {
			return &guard.OversizeError{What: x.first(), Size: size, Limit: guard.RequestBytes}
		}
		if err := c.export(ctx, x.request, x.response); err != nil {
			return err
		}
		rejected, message := x.partial()
		return c.partial(rejected, message, to-from)
	})
}
