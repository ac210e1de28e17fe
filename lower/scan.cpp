// A scan: one accumulator per point, stored at each step along the axis.
#include "lower/build.h"
#include "lower/kind_body.h"
#include "lower/kinds.h"

namespace assay::lower {

namespace {

class ScanBody : public KindBody {
 public:
  using KindBody::KindBody;

  void emit(const ir::Scan& scan, ir::Block& out) {
    ir::Declare declare;
    for (Point& pt : points_) {
      pt.reg = s_.new_register("sum" + std::to_string(pt.row) + "_" + std::to_string(pt.vector) +
                                   "_" + std::to_string(s_.kernel.registers.size()),
                               s_.width());
      declare.regs.push_back(pt.reg);
    }
    append(out, std::move(declare));
    const double identity = ir::identity_of(s_.anchor.combine);
    for (const Point& pt : points_) append(out, ir::Assign{pt.reg, s_.number(identity)});
    const int64_t extent = s_.anchor.axes[static_cast<size_t>(scan.axis)].extent;
    walk({scan.axis}, place_, out, [&](const Place& at, ir::Block& inside) {
      const ir::Index& step = at.at[static_cast<size_t>(scan.axis)];
      emit_step(scan,
                scan.reverse ? moved(at, scan.axis, ir::constant(extent - 1) + step * -1) : at,
                inside);
    });
  }

 private:
  void emit_step(const ir::Scan& scan, const Place& at, ir::Block& out) {
    for (const Point& pt : points_) {
      const ir::Value sum = s_.held(pt.reg);
      const ir::Assign next{pt.reg, with_term(sum, at, pt)};
      if (!scan.exclusive) append(out, next);
      store(at, pt, sum, out);
      if (scan.exclusive) append(out, next);
    }
  }
};

}  // namespace

void emit_scan(Lowering& s, const TileClass& tile, const Place& place, ir::Block& out) {
  ScanBody(s, tile, place).emit(std::get<ir::Scan>(s.anchor.kind), out);
}

}  // namespace assay::lower
