"""What a notebook sees: magics, widget, control socket, frozen output."""
